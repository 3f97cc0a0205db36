package actor

import (
	"context"
	"log/slog"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// saver writes snapshots off the lanes' path. Its queue is bounded and lossy: a snapshot that finds no room is made later.
type saver[S any] struct {
	folds *folds[S]
	log   *slog.Logger
	seams Seams
	queue chan toSave[S]
}

type toSave[S any] struct {
	session session.ID
	at      folded[S]
}

const saverQueue = 256

func newSaver[S any](f *folds[S], log *slog.Logger, seams Seams) *saver[S] {
	return &saver[S]{folds: f, log: log, seams: seams, queue: make(chan toSave[S], saverQueue)}
}

// offer takes a fold to save; false when nobody will.
func (s *saver[S]) offer(id session.ID, at folded[S]) bool {
	if s.folds.snaps == nil {
		return false
	}
	select {
	case s.queue <- toSave[S]{id, at}:
		return true
	default:
		return false
	}
}

// start saves until ctx ends.
func (s *saver[S]) start(ctx context.Context) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil { // what is still queued is made later
			select {
			case <-ctx.Done():
				return
			case j := <-s.queue:
				s.seams.turn(Goroutine{Kind: "saver", Session: j.session})
				if ctx.Err() != nil {
					return
				}
				if err := s.folds.saveSnapshot(ctx, j.session, j.at); err != nil && ctx.Err() == nil {
					s.log.Warn("snapshot not saved", "session", j.session, "error", err)
				}
			}
		}
	})
	return &wg
}
