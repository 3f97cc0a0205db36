package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	codeNotAvailable jetstream.ErrorCode = 10008 // no leader that could answer
	answerPause                          = 250 * time.Millisecond
	peersWait                            = 15 * time.Second // a server that is missing for longer is none that still starts
)

// UntilAnswered repeats do while the cluster cannot answer, for so long as within: one that has just been started, or has lost its
// leader, does so for some seconds, and whoever starts everything at once meets it there. What was begun goes on where it stopped. Servers
// that are too few for so many copies are waited for as well, but not for long. Before each pause tell gets what was wrong.
func UntilAnswered(ctx context.Context, within time.Duration, tell func(error), do func() error) error {
	began := time.Now()
	for {
		err := do()
		if bound := waitFor(err, within); ctx.Err() != nil || time.Since(began) >= bound {
			return err
		}
		tell(err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(answerPause):
		}
	}
}

// Unanswered says whether an error is that JetStream had nobody who could answer, or take what was asked for.
func Unanswered(err error) bool { return waitFor(err, 1) > 0 }

// waitFor is how long an error is waited for to go away; 0: it does not.
func waitFor(err error, within time.Duration) time.Duration {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch {
		case noRoom(api):
			return 0
		case api.ErrorCode == codeNotAvailable:
			return within
		case api.ErrorCode == codeNoPeers:
			return min(within, peersWait)
		}
		return 0
	}
	for _, silent := range []error{context.DeadlineExceeded, nats.ErrNoResponders, nats.ErrTimeout, jetstream.ErrNoStreamResponse} {
		if errors.Is(err, silent) {
			return within
		}
	}
	return 0
}
