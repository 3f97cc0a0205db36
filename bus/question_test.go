package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// patient is a context that outlives every answer: what waits for its end waits for the test's.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// wired is a connection of a service over a wire of its own.
func wired(t *testing.T, srv *bustest.Server, service string) (*bus.Conn, *bustest.Wire) {
	t.Helper()
	w := bustest.NewWire(t, srv.Addr())
	c, err := bus.Connect(t.Context(), bus.ConnOptions{Service: service, URL: "nats://" + w.Addr(), Seed: srv.Seed(service), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, w
}

// TestLostAnswer: an append whose answer is lost with the connection is found, once, also behind what others have appended since.
func TestLostAnswer(t *testing.T) {
	srv := bustest.New(t, intake)
	other := srv.Connect(t, "intake").Journal()
	for name, add := range map[string]func(*bus.Journal, envelope.Event) (uint64, error){
		"append": func(j *bus.Journal, e envelope.Event) (uint64, error) { return j.Append(patient(t), e) },
		"fact":   func(j *bus.Journal, e envelope.Event) (uint64, error) { return j.AppendFact(patient(t), e, e.Prev) },
	} {
		for _, behind := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, %d behind it", name, behind), func(t *testing.T) {
				c, w := wired(t, srv, "intake")
				s := id(t, fmt.Sprint(name, behind))
				first, err := add(c.Journal(), envelope.Event{Session: s, Body: received("before")})
				if err != nil {
					t.Fatal(err)
				}
				w.Cut(bustest.Back)
				var cursor uint64
				done := make(chan error, 1)
				go func() {
					var err error
					cursor, err = add(c.Journal(), envelope.Event{ID: "mine", Session: s, Prev: first, Body: received("mine")})
					done <- err
				}()
				stored := uint64(0)
				waitFor(t, "it is stored", func() bool {
					stored, err = other.Last(t.Context(), s)
					return err != nil || stored > first
				})
				last := stored
				for range behind {
					if last, err = other.Append(t.Context(), envelope.Event{Session: s, Prev: last, Body: received("behind")}); err != nil {
						t.Fatal(err)
					}
				}
				w.Break()
				w.Cut(0)
				if err := <-done; err != nil || cursor != stored {
					t.Errorf("cursor %d, %v, want %d", cursor, err, stored)
				}
				if now, err := other.Last(t.Context(), s); err != nil || now != last {
					t.Errorf("the last one is %d, %v, want %d", now, err, last)
				}
			})
		}
	}
}

// TestLostQuestionIsAskedAgain: what never arrived is stored by the repetition, or told as the conflict that it is.
func TestLostQuestionIsAskedAgain(t *testing.T) {
	srv := bustest.New(t, intake)
	other := srv.Connect(t, "intake").Journal()
	c, w := wired(t, srv, "intake")
	for _, taken := range []bool{false, true} {
		s := id(t, fmt.Sprint(taken))
		sent := c.NATS().Stats().OutMsgs
		w.Cut(bustest.There)
		done := make(chan error, 1)
		go func() {
			_, err := c.Journal().Append(patient(t), envelope.Event{ID: "mine", Session: s, Body: received("mine")})
			done <- err
		}()
		waitFor(t, "it is sent", func() bool { return c.NATS().Stats().OutMsgs > sent })
		if taken {
			if _, err := other.Append(t.Context(), envelope.Event{Session: s, Body: received("first")}); err != nil {
				t.Fatal(err)
			}
		}
		w.Break()
		w.Cut(0)
		err := <-done
		if _, conflict := errors.AsType[*bus.Conflict](err); conflict != taken || !taken && err != nil {
			t.Errorf("taken %v: %v", taken, err)
		}
		waitFor(t, "the connection is back", c.NATS().IsConnected)
	}
}

// TestLostReading: a reading goes on over the next connection.
func TestLostReading(t *testing.T) {
	srv := bustest.New(t, intake)
	s := id(t, "reading")
	cursor, err := srv.Connect(t, "intake").Journal().Append(t.Context(), envelope.Event{Session: s, Body: received("it")})
	if err != nil {
		t.Fatal(err)
	}
	c, w := wired(t, srv, "intake")
	for name, read := range map[string]func(context.Context) error{
		"last":     func(ctx context.Context) error { _, err := c.Journal().Last(ctx, s); return err },
		"get":      func(ctx context.Context) error { _, err := c.Journal().Get(ctx, cursor); return err },
		"before":   func(ctx context.Context) error { _, err := c.Journal().Before(ctx, s, cursor+1); return err },
		"snapshot": func(ctx context.Context) error { _, _, err := c.LoadSnapshot(ctx, s); return err },
		"replay": func(ctx context.Context) error {
			return c.Replay(ctx, bus.ReplayOptions{From: cursor, To: cursor}, func(envelope.Event) error { return nil })
		},
	} {
		sent := c.NATS().Stats().OutMsgs
		w.Cut(bustest.There)
		done := make(chan error, 1)
		go func() { done <- read(patient(t)) }()
		waitFor(t, "it is asked", func() bool { return c.NATS().Stats().OutMsgs > sent })
		w.Break()
		w.Cut(0)
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		waitFor(t, "the connection is back", c.NATS().IsConnected)
	}
}

// TestLostAsk: a service may have done what it was asked, so that the asker is told that nobody knows.
func TestLostAsk(t *testing.T) {
	srv := bustest.New(t, intake, bus.Spec{Name: "cli", Asks: []string{"intake.submit"}})
	asked := make(chan struct{})
	times := 0
	err := srv.Connect(t, "intake").Serve(t.Context(), "submit", func(ctx context.Context, _ []byte) (any, error) {
		times++
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	c, w := wired(t, srv, "cli")
	done := make(chan error, 1)
	go func() {
		_, err := bus.Ask[string](patient(t), c, "intake", "submit", "it")
		done <- err
	}()
	<-asked
	w.Break()
	if err := <-done; fault.KindOf(err) != fault.Timeout || times != 1 {
		t.Errorf("asked %d times: %v", times, err)
	}
}

// TestEndedAppend says why, and not that the journal was at fault.
func TestEndedAppend(t *testing.T) {
	srv := bustest.New(t, intake)
	c, w := wired(t, srv, "intake")
	w.Cut(bustest.Back)
	ctx, cancel := context.WithCancelCause(patient(t))
	gone := errors.New("gone")
	done := make(chan error, 1)
	go func() {
		_, err := c.Journal().Append(ctx, envelope.Event{Session: id(t, "ended"), Body: received("it")})
		done <- err
	}()
	cancel(gone)
	if err := <-done; !errors.Is(err, gone) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.Break()
	w.Cut(0)
}

// TestRefusedAppend ends at once, and can be tried again: the installation is at fault, not the session.
func TestRefusedAppend(t *testing.T) {
	srv := bustest.New(t, reader)
	c, err := bus.Connect(t.Context(), bus.ConnOptions{Service: "turns", URL: srv.URL(), Seed: srv.Seed("turns"), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	_, err = c.Journal().Append(patient(t), envelope.Event{Session: id(t, "refused"), Body: received("not mine to say")})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
}
