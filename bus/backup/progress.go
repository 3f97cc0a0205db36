package backup

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/bus"
)

// Options of a Save or a Restore. The zero value is one.
type Options struct {
	Version  string         // the jetclaw that saves; for the manifest
	Progress func(Progress) // called often, from one goroutine; nil: nobody looks
	// Replicas are the copies that a Restore makes of each stream, on a bus whose disks are others: limits in bytes are then left to the
	// topology that is applied afterwards. 0: one, with the limits that were saved.
	Replicas int
	// Wait is for how long a Restore waits for a cluster that cannot answer, at each step; 0: not at all. Waiting is told why, before each
	// pause; nil: nobody looks.
	Wait    time.Duration
	Waiting func(error)
}

// patiently repeats what a cluster cannot answer yet.
func (o Options) patiently(ctx context.Context, do func() error) error {
	tell := o.Waiting
	if tell == nil {
		tell = func(error) {}
	}
	return bus.UntilAnswered(ctx, o.Wait, tell, do)
}

func (o Options) tell(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// Doing is what is being done to a stream.
type Doing string

const (
	Saving    Doing = "saving"
	Checking  Doing = "checking"
	Restoring Doing = "restoring"
)

// Progress says how far one stream is: messages while it is saved, whose Total is an estimate, else bytes of its file.
type Progress struct {
	Doing  Doing
	Stream string
	Done   int64
	Total  int64
}
