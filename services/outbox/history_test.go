package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// receiver is the other end of a push channel: each call takes a while and has a fate, and what arrives is remembered.
type receiver struct {
	takes []time.Duration
	fates []fate

	mu      sync.Mutex
	calls   int                                    // guarded by mu
	arrived map[session.ID]map[deliveryv1.Ref]bool // guarded by mu
	wrong   []error                                // guarded by mu
}

type fate string

const (
	accepts fate = "accepts"
	later   fate = "later"   // it did not arrive, and may be tried again
	refuses fate = "refuses" // for good
	mute    fate = "mute"    // it arrives, and nobody says so
	gone    fate = "gone"    // it does not arrive, and nobody says so
	breaks  fate = "breaks"  // the sender panics
)

func (r *receiver) Send(ctx context.Context, i channel.Item) (channel.Receipt, error) {
	r.mu.Lock()
	n := r.calls
	r.calls++
	r.mu.Unlock()
	f := accepts
	if n < len(r.fates) {
		f = r.fates[n]
	}
	select {
	case <-time.After(r.takes[n%len(r.takes)]):
	case <-ctx.Done():
		return channel.Receipt{}, ctx.Err()
	}
	if f == accepts || f == mute {
		r.mu.Lock()
		defer r.mu.Unlock()
		ref := deliveryv1.Ref{Delivery: i.Delivery, Attempt: i.Attempt}
		if r.arrived[i.Session] == nil {
			r.arrived[i.Session] = map[deliveryv1.Ref]bool{}
		}
		if r.arrived[i.Session][ref] {
			r.wrong = append(r.wrong, fmt.Errorf("%v arrives twice", ref))
		}
		for old := range r.arrived[i.Session] {
			if old.Delivery == i.Delivery && old.Attempt < i.Attempt && !i.Repeat {
				r.wrong = append(r.wrong, fmt.Errorf("%v arrives, although %v did, and does not say so", ref, old))
			}
		}
		r.arrived[i.Session][ref] = true
	}
	switch f {
	case later:
		return channel.Receipt{}, channel.Errorf(channel.Retry, "not now")
	case refuses:
		return channel.Receipt{}, channel.Errorf(channel.Permanent, "never")
	case mute, gone:
		return channel.Receipt{}, errors.New("no answer")
	case breaks:
		panic("the sender breaks")
	case accepts:
	}
	return channel.Receipt{ID: "receipt"}, nil
}

// begins judges an attempt at its begin, by the journal: its turn has come, and the one before it has ended.
func begins(w *actortest.World, k actor.Work[delivery.State]) error {
	claim := k.Claim.Body.(deliveryv1.Started)
	ends := map[string]bool{}
	closed := claim.Attempt == 1
	for _, e := range w.Events(k.Session) {
		if e.Cursor > k.Claim.Cursor {
			if b, ok := e.Body.(deliveryv1.Unknown); ok && b.Ref == claim.Ref && time.Since(e.Time) > bus.AckWait {
				return fmt.Errorf("%v begins %s after it was given up", claim.Ref, time.Since(e.Time))
			}
			continue
		}
		switch b := e.Body.(type) {
		case deliveryv1.Sent:
			ends[b.Delivery] = true
		case deliveryv1.Failed:
			ends[b.Delivery] = true
		case deliveryv1.Unknown:
			ends[b.Delivery] = ends[b.Delivery] || !b.Resend
			closed = closed || b.Delivery == claim.Delivery && b.Attempt == claim.Attempt-1
			if b.Delivery == claim.Delivery && !claim.Repeat {
				return fmt.Errorf("%v may repeat, and is not marked", claim.Ref)
			}
		case deliveryv1.Deferred:
			closed = closed || b.Delivery == claim.Delivery && b.Attempt == claim.Attempt-1
		}
	}
	if !closed {
		return fmt.Errorf("%v begins, and the attempt before it has not ended", claim.Ref)
	}
	for _, e := range w.Events(k.Session) {
		if e.ID == claim.Delivery {
			return nil
		}
		if shows(e) && !ends[e.ID] {
			return fmt.Errorf("%v begins before the turn of %s is over", claim.Ref, e.ID)
		}
	}
	return nil // its session is deleted
}

func shows(e envelope.Event) bool {
	switch b := e.Body.(type) {
	case turnv1.SessionReset:
		return b.Text != ""
	case turnv1.SessionCompacted:
		return b.By != ""
	case turnv1.Completed, turnv1.Failed, turnv1.Cancelled, noticev1.Posted, turnv1.SessionConfigured, turnv1.CompactionFailed:
		return true
	}
	return false
}

// judge: every item ends once, in order, and what counts as sent has arrived.
func (r *receiver) judge(route delivery.Route) func(session.ID, []envelope.Event, delivery.State) error {
	return func(s session.ID, events []envelope.Event, st delivery.State) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		var in, out []string
		var at delivery.State
		for _, e := range events {
			before, _ := at.Head()
			at = at.Apply(e)
			after, _ := at.Head()
			b, ours := e.Body.(deliveryv1.Event)
			if shows(e) {
				in = append(in, e.ID)
			}
			if !ours {
				continue
			}
			if fmt.Sprint(before) == fmt.Sprint(after) {
				return fmt.Errorf("event %d, %s, changes nothing", e.Cursor, e.Type())
			}
			switch b := b.(type) {
			case deliveryv1.Sent:
				out = append(out, b.Delivery)
				if route == delivery.Push && !r.arrived[s][b.Ref] {
					return fmt.Errorf("%v counts as sent, and did not arrive", b.Ref)
				}
			case deliveryv1.Failed:
				out = append(out, b.Delivery)
			case deliveryv1.Unknown:
				if !b.Resend {
					out = append(out, b.Delivery)
				}
			case deliveryv1.Started, deliveryv1.Deferred:
				if route == delivery.Mailbox {
					return fmt.Errorf("a mailbox is called: event %d", e.Cursor)
				}
			}
		}
		if !slices.Equal(in, out) {
			return fmt.Errorf("to show %v, ended %v", in, out)
		}
		if len(st.Queue) > 0 {
			return fmt.Errorf("left over: %v", st.Queue)
		}
		return errors.Join(r.wrong...)
	}
}

// TestHistories runs the service's own machine and effect in the shell, with a receiver that is slow, refuses, breaks or
// says nothing: several workers, lost acks, late acks, duplicates, conflicts, a crash or a stop at every step, a journal
// without room, a server that is away, deleted sessions.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &receiver{arrived: map[session.ID]map[deliveryv1.Ref]bool{}}
		r.fates = rapid.SliceOfN(rapid.SampledFrom([]fate{accepts, accepts, later, refuses, mute, gone, breaks}), 0, 10).Draw(rt, "fates")
		for _, ms := range rapid.SliceOfN(rapid.IntRange(0, 12_000), 1, 4).Draw(rt, "send ms") {
			r.takes = append(r.takes, time.Duration(ms)*time.Millisecond)
		}
		limits := delivery.DefaultLimits()
		limits.Attempts = rapid.IntRange(1, 5).Draw(rt, "attempts")
		limits.ResendUnknown = rapid.Bool().Draw(rt, "resend")
		limits.SendTime = rapid.SampledFrom([]time.Duration{8 * time.Second, 30 * time.Second}).Draw(rt, "send time")
		limits.MaxAge = rapid.SampledFrom([]time.Duration{30 * time.Second, time.Hour}).Draw(rt, "max age")
		if rapid.Bool().Draw(rt, "long waits") {
			limits.Backoff = func(string, int) time.Duration { return 100 * time.Second }
		}
		route := rapid.SampledFrom([]delivery.Route{delivery.Push, delivery.Push, delivery.Mailbox}).Draw(rt, "route")
		limits.Routes = map[string]delivery.Route{"http": route}
		service := &Service{senders: map[string]Sender{"http": r}, limits: limits, log: slog.New(slog.DiscardHandler)}

		deeds := rapid.SliceOfN(rapid.SampledFrom([]string{"answer", "answer", "answer", "failure", "stopped", "notice", "configured", "reset", "reset, untold", "compacted", "by itself", "not compacted", "delete", "fill", "down"}), 1, 8).Draw(rt, "deeds")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 5000), len(deeds), len(deeds)).Draw(rt, "gaps")
		sc := actortest.Scenario[delivery.State]{
			Spec: Spec(), Machine: service.machine(), Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: actortest.Tape(rt),
			Check: r.judge(route), Begin: begins,
			Script: func(w *actortest.World) {
				for i, d := range deeds {
					time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
					do(w, session.ID(fmt.Sprintf("main.http.web.p%d", i%2)), d, i)
				}
			},
		}
		var verdict error
		synctest.Test(t, func(*testing.T) { verdict = actortest.Run(sc) })
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

func do(w *actortest.World, s session.ID, deed string, i int) {
	key := fmt.Sprint("k", i)
	switch deed {
	case "answer":
		w.Post(s, turnv1.Completed{Text: "an answer", Answers: []string{"m" + key}}, key)
	case "failure":
		w.Post(s, turnv1.Failed{Text: "the model is gone"}, key)
	case "stopped":
		w.Post(s, turnv1.Cancelled{Answers: []string{"m" + key}}, key)
	case "notice":
		w.Post(s, noticev1.Posted{Service: "turns", Text: "a note"}, key)
	case "configured":
		w.Post(s, turnv1.SessionConfigured{By: "c" + key, Text: "the model is x"}, key)
	case "reset":
		w.Post(s, turnv1.SessionReset{By: "c" + key, Text: "a new beginning"}, key)
	case "reset, untold":
		w.Post(s, turnv1.SessionReset{By: "c" + key}, key)
	case "compacted":
		w.Post(s, turnv1.SessionCompacted{By: "c" + key, Text: "compacted"}, key)
	case "by itself":
		w.Post(s, turnv1.SessionCompacted{Text: "compacted"}, key)
	case "not compacted":
		w.Post(s, turnv1.CompactionFailed{By: "c" + key, Text: "not compacted"}, key)
	case "delete":
		w.Delete(s, turnv1.SessionDeleted{}, key)
	case "fill":
		w.Fill(5 * time.Second)
	case "down":
		w.Down(5 * time.Second)
	}
}
