package retention

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Policy says which sessions go. The zero value keeps all.
type Policy struct {
	Dormant  time.Duration // how long nothing must have happened in it; 0: none goes for its age
	MaxBytes int64         // of the journal, above which the longest dormant ones go; 0: none goes for its size
}

// Off says that all sessions are kept.
func (p Policy) Off() bool { return p.Dormant <= 0 && p.MaxBytes <= 0 }

// leastDormant is how long nothing must have happened in a session that goes for the size of the journal.
const leastDormant = 24 * time.Hour

// Bus is what this package needs of one; OnBus is the real one.
type Bus interface {
	Replay(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error
	Get(ctx context.Context, cursor uint64) (envelope.Event, error)
	// File is an attachment of a session; fault.NotFound when it is not there.
	File(ctx context.Context, s session.ID, digest string) ([]byte, error)
	// Size is that of the whole journal, in bytes.
	Size(ctx context.Context) (int64, error)
	// Delete appends the tombstone if the last event of the session is at cursor, and returns its own cursor.
	Delete(ctx context.Context, s session.ID, cursor uint64, reason turnv1.SessionDeleted) (uint64, error)
	// Purge removes the events below the tombstone, and what they refer to in the object store.
	Purge(ctx context.Context, s session.ID, tombstone uint64) (uint64, error)
}

// SingleBus is a Bus that knows one session's past.
type SingleBus interface {
	Bus
	// History is what a session has since its last tombstone, that one included.
	History(ctx context.Context, s session.ID) ([]envelope.Event, error)
}

// Config is what a Pruner needs. Bus, Archive and By are required.
type Config struct {
	Bus     Bus
	Archive string // folder; an absolute path
	Policy  Policy
	By      string           // who asks, as tombstones say it: "retention", "cli"
	Now     func() time.Time // nil: the clock
	Step    func()           // called for each event that is read; may be nil
}

// Pruner finds sessions that are to go, and lets them go.
type Pruner struct{ Config }

// New makes a pruner. It touches nothing.
func New(c Config) (*Pruner, error) {
	switch {
	case c.Bus == nil:
		return nil, errors.New("retention needs a bus")
	case !filepath.IsAbs(c.Archive):
		return nil, errors.New("retention needs the absolute path of a folder to archive to")
	case c.By == "":
		return nil, errors.New("retention needs to know who asks")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Step == nil {
		c.Step = func() {}
	}
	return &Pruner{c}, nil
}
