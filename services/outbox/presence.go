package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const (
	typingEvery = 4500 * time.Millisecond // a channel shows it for five seconds
	typingTime  = 5 * time.Second         // of one call
	typingMost  = 15 * time.Minute        // without news of the turn
)

// typing shows that turns run in the sessions of one channel. A goroutine a running turn.
type typing struct {
	presence Presence
	log      *slog.Logger

	mu   sync.Mutex
	open map[session.ID]typist // guarded by mu
	work sync.WaitGroup
}

type typist struct {
	turn string
	stop context.CancelFunc
}

// begin shows it until the turn ends, or waits for a person.
func (t *typing) begin(ctx context.Context, s session.ID, turn string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.open[s]; ok {
		if o.turn == turn {
			return
		}
		o.stop()
	}
	if ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, typingMost)
	t.open[s] = typist{turn, stop}
	t.work.Go(func() {
		defer stop()
		tick := time.NewTicker(typingEvery)
		defer tick.Stop()
		for {
			call, cancel := context.WithTimeout(ctx, typingTime)
			err := t.presence.Typing(call, s)
			cancel()
			if err != nil && ctx.Err() == nil {
				t.log.Debug("typing is not shown", "session", s, "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

func (t *typing) end(s session.ID, turn string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.open[s]; ok && o.turn == turn {
		o.stop()
		delete(t.open, s)
	}
}

// present shows, until ctx ends, what a channel can show of turns that run. It returns once all of it has ended. Every worker
// shows it; a channel does not mind to be told twice that somebody types, and a draft is claimed.
func (s *Service) present(ctx context.Context, channel string, p Presence) error {
	t := &typing{presence: p, log: s.log, open: map[session.ID]typist{}}
	d := s.drafts[channel]
	defer t.work.Wait()
	defer d.work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := s.conn.WatchChannel(ctx, channel, presented(), func(e envelope.Event) {
		switch b := e.Body.(type) {
		case turnv1.Started:
			t.begin(ctx, e.Session, b.Turn)
		case turnv1.Continued:
			t.begin(ctx, e.Session, b.Turn)
		case turnv1.Resumed:
			t.begin(ctx, e.Session, b.Turn)
		case approvalv1.Requested:
			t.end(e.Session, b.Turn)
		case turnv1.Completed:
			t.end(e.Session, b.Turn)
			d.forget(e.Session, b.Turn)
		case turnv1.Failed:
			t.end(e.Session, b.Turn)
			d.forget(e.Session, b.Turn)
		case turnv1.Cancelled:
			t.end(e.Session, b.Turn)
			d.forget(e.Session, b.Turn)
		}
	})
	if err != nil {
		return err
	}
	if err := s.conn.SubscribeChannel(ctx, channel, func(id session.ID, data []byte) { d.hear(ctx, id, data) }); err != nil {
		return err
	}
	close(d.hears)
	<-ctx.Done()
	return nil
}

func presented() []string {
	return []string{
		kind(turnv1.Started{}), kind(turnv1.Continued{}), kind(turnv1.Resumed{}), kind(approvalv1.Requested{}),
		kind(turnv1.Completed{}), kind(turnv1.Failed{}), kind(turnv1.Cancelled{}),
	}
}
