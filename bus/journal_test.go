package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

var intake = bus.Spec{
	Name: "intake", Appends: []string{"message.received", "control.requested"}, Snapshots: true, Follows: true,
	Serves: []string{"submit"}, Live: true,
}

var reader = bus.Spec{
	Name: "turns", Appends: []string{"turn.completed"}, Doorbells: []string{"message.received"},
	Timers: true, Snapshots: true, Follows: true,
}

func id(t testing.TB, peer string) session.ID {
	t.Helper()
	s, err := session.New("main", "http", "test", peer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func received(text string) messagev1.Received {
	return messagev1.Received{From: messagev1.Sender{ID: "local"}, Text: text}
}

func TestJournalComparesAndSets(t *testing.T) {
	srv := bustest.New(t, intake)
	j := srv.Connect(t, "intake").Journal()
	ctx := t.Context()
	s := id(t, "a b.c") // escaped in the subject

	first, err := j.Append(ctx, envelope.Event{ID: "e1", Session: s, Body: received("one")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ctx, envelope.Event{Session: id(t, "other"), Body: received("elsewhere")}); err != nil {
		t.Fatal(err)
	}
	second, err := j.Append(ctx, envelope.Event{ID: "e2", Session: s, Prev: first, Cause: "e1", Body: messagev1.Control{Verb: messagev1.Stop}})
	if err != nil {
		t.Fatalf("another session's event must not disturb: %v", err)
	}
	_, err = j.Append(ctx, envelope.Event{Session: s, Prev: first, Body: received("late")})
	var c *bus.Conflict
	if !errors.As(err, &c) || !c.Known || c.Last != second {
		t.Fatalf("stale prev: %v, want a conflict at %d", err, second)
	}
	_, err = j.Append(ctx, envelope.Event{Session: s, Body: received("as if the session were new")})
	if !errors.As(err, &c) || c.Last != second {
		t.Fatalf("prev 0 on a session with a past: %v", err)
	}
	ev, err := j.Get(ctx, second)
	if err != nil || ev.ID != "e2" || ev.Prev != first || ev.Cause != "e1" || ev.Session != s || ev.Body != (messagev1.Control{Verb: messagev1.Stop}) {
		t.Fatalf("read %+v, %v", ev, err)
	}
	if last, err := j.Last(ctx, s); err != nil || last != second {
		t.Fatalf("last %d, %v", last, err)
	}
	if last, err := j.Last(ctx, id(t, "nobody")); err != nil || last != 0 {
		t.Fatalf("last of an unknown session %d, %v", last, err)
	}
	if _, err := j.Get(ctx, 99); !errors.Is(err, bus.ErrNoEvent) {
		t.Fatalf("get 99: %v", err)
	}
}

func TestFactsGuessAndCorrect(t *testing.T) {
	srv := bustest.New(t, intake)
	j := srv.Connect(t, "intake").Journal()
	s := id(t, "facts")
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			if _, err := j.AppendFact(t.Context(), envelope.Event{Session: s, Key: fmt.Sprint(n), Body: received("x")}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// The same key within the server's window is not stored again, whatever its prev.
	again, err := j.AppendFact(t.Context(), envelope.Event{Session: s, Key: "7", Body: received("x")}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var events []envelope.Event
	c := srv.Connect(t, "intake")
	if err := c.Replay(t.Context(), bus.ReplayOptions{Session: s}, func(ev envelope.Event) error {
		events = append(events, ev)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(events) != 20 {
		t.Fatalf("%d events, want 20", len(events))
	}
	prev := uint64(0)
	for _, ev := range events {
		if ev.Prev != prev {
			t.Fatalf("event %d follows %d, want %d", ev.Cursor, ev.Prev, prev)
		}
		prev = ev.Cursor
		if ev.Key == "7" && ev.Cursor != again {
			t.Fatalf("key 7 is at %d, the repeat was answered with %d", ev.Cursor, again)
		}
	}
}

func TestLargeBodiesAreClaimChecked(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	text := strings.Repeat("ä", 1<<20) // 2 MiB: two times the largest message
	cursor, err := j.Append(t.Context(), envelope.Event{Session: id(t, "big"), Body: received(text)})
	if err != nil {
		t.Fatal(err)
	}
	ev, err := srv.Connect(t, "turns").Journal().Get(t.Context(), cursor)
	if err != nil {
		t.Fatal(err)
	}
	if got := ev.Body.(messagev1.Received).Text; got != text {
		t.Fatalf("read %d bytes, want %d", len(got), len(text))
	}
}

func TestFollowHasHistoryAndNewsInOrder(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	c := srv.Connect(t, "turns")
	s := id(t, "followed")
	const n = 1500 // more than one batch, and than the server keeps in flight
	put := func(k int) {
		if _, err := j.AppendFact(t.Context(), envelope.Event{Session: s, Key: fmt.Sprint(k), Body: received(fmt.Sprint(k))}, 0); err != nil {
			t.Error(err)
		}
	}
	prev := uint64(0)
	for k := range n / 2 {
		cur, err := j.Append(t.Context(), envelope.Event{Session: s, Prev: prev, Body: received(fmt.Sprint(k))})
		if err != nil {
			t.Fatal(err)
		}
		prev = cur
	}
	for _, o := range []bus.ReplayOptions{{}, {Session: s}} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var got []uint64
		done := make(chan error, 1)
		want := int(prev) + 20
		go func() {
			done <- c.Follow(ctx, o, func(ev envelope.Event) error {
				if got = append(got, ev.Cursor); len(got) == want {
					cancel()
				}
				return nil
			})
		}()
		for k := range 20 {
			put(n + k + want)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for i, cur := range got {
			if cur != uint64(i+1) {
				t.Fatalf("%+v: event %d has cursor %d", o, i, cur)
			}
		}
		if len(got) != want {
			t.Fatalf("%+v: %d events, want %d", o, len(got), want)
		}
		prev = uint64(want)
	}
}

func TestReplayFromCursorAndTime(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c := srv.Connect(t, "intake")
	s := id(t, "r")
	var last uint64
	for range 5 {
		var err error
		if last, err = c.Journal().AppendFact(t.Context(), envelope.Event{Session: s, Body: received("x")}, last); err != nil {
			t.Fatal(err)
		}
	}
	count := func(o bus.ReplayOptions) (n int) {
		t.Helper()
		if err := c.Replay(t.Context(), o, func(envelope.Event) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, tc := range []struct {
		o    bus.ReplayOptions
		want int
	}{
		{bus.ReplayOptions{}, 5},
		{bus.ReplayOptions{From: 3}, 3},
		{bus.ReplayOptions{From: 2, To: 3}, 2},
		{bus.ReplayOptions{From: 9}, 0},
		{bus.ReplayOptions{Session: id(t, "none")}, 0},
		{bus.ReplayOptions{Since: time.Now().Add(-time.Hour)}, 5},
		{bus.ReplayOptions{Since: time.Now().Add(time.Hour)}, 0},
		{bus.ReplayOptions{Kinds: "message.*"}, 5},
		{bus.ReplayOptions{Kinds: "message.received", From: 2, To: 4}, 3},
		{bus.ReplayOptions{Kinds: "message.received", Since: time.Now().Add(-time.Hour)}, 5},
		{bus.ReplayOptions{Kinds: "turn.*"}, 0},
		{bus.ReplayOptions{Kinds: "turn.*", Since: time.Now().Add(-time.Hour)}, 0},
	} {
		if got := count(tc.o); got != tc.want {
			t.Errorf("%+v: %d events, want %d", tc.o, got, tc.want)
		}
	}
}

func TestSnapshots(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c := srv.Connect(t, "turns")
	s := id(t, "snap.x")
	if _, ok, err := c.LoadSnapshot(t.Context(), s); ok || err != nil {
		t.Fatalf("an empty bucket: %v %v", ok, err)
	}
	for n := range uint64(3) {
		if err := c.SaveSnapshot(t.Context(), s, bus.Snapshot{Version: "1", Cursor: n, State: []byte(`{"a":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	snap, ok, err := c.LoadSnapshot(t.Context(), s)
	if err != nil || !ok || snap.Cursor != 2 || string(snap.State) != `{"a":1}` {
		t.Fatalf("%+v %v %v", snap, ok, err)
	}
	if err := c.DropSnapshot(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.LoadSnapshot(t.Context(), s); ok || err != nil {
		t.Fatalf("after the drop: %v %v", ok, err)
	}
}

func TestTimersRing(t *testing.T) {
	srv := bustest.New(t, reader)
	c := srv.Connect(t, "turns")
	s := id(t, "timed")
	at := time.Now().Add(300 * time.Millisecond)
	if err := c.SetTimer(t.Context(), s, at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := c.SetTimer(t.Context(), s, at); err != nil { // replaces
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var rang []time.Time
	err := c.Doorbells(ctx, reader, func(b bus.Bell) {
		if b.Event().Session != s || b.Event().Cursor != 0 {
			t.Errorf("rang for %q, cursor %d", b.Event().Session, b.Event().Cursor)
		}
		rang = append(rang, time.Now())
		if err := b.Ack(); err != nil {
			t.Error(err)
		}
		cancel()
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rang) != 1 || rang[0].Before(at) {
		t.Fatalf("rang %v, set for %v", rang, at)
	}
}

func TestWorkersAsk(t *testing.T) {
	srv := bustest.New(t, reader)
	a, b := srv.Connect(t, "turns"), srv.Connect(t, "turns")
	ref := bus.ClaimRef{Session: id(t, "w"), Claim: 7}
	if got := a.AskWorker(t.Context(), b.Instance(), ref); got != bus.Absent {
		t.Fatalf("nobody listens: %v", got)
	}
	nudged := make(chan bus.ClaimRef, 1)
	if err := b.AnswerWorkers(t.Context(), func(r bus.ClaimRef) bool { return r.Claim == 7 }, func(r bus.ClaimRef) { nudged <- r }); err != nil {
		t.Fatal(err)
	}
	if got := a.AskWorker(t.Context(), b.Instance(), ref); got != bus.Busy {
		t.Fatalf("at it: %v", got)
	}
	if got := a.AskWorker(t.Context(), b.Instance(), bus.ClaimRef{Session: ref.Session, Claim: 8}); got != bus.Free {
		t.Fatalf("not at it: %v", got)
	}
	if err := a.Nudge(b.Instance(), ref); err != nil {
		t.Fatal(err)
	}
	if got := <-nudged; got != ref {
		t.Fatalf("nudged with %+v", got)
	}
}

// TestFollowSurvivesARestart: the server goes away under a follower; what comes after it is seen, once and in order.
func TestFollowSurvivesARestart(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j, c := srv.Connect(t, "intake").Journal(), srv.Connect(t, "turns")
	put := func() {
		if _, err := j.AppendFact(t.Context(), envelope.Event{Session: id(t, "f"), Body: received("x")}, 0); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := make(chan uint64, 16)
	done := make(chan error, 1)
	go func() {
		done <- c.Follow(ctx, bus.ReplayOptions{}, func(ev envelope.Event) error { seen <- ev.Cursor; return nil })
	}()
	for want := range uint64(6) {
		if want == 3 {
			srv.Restart()
		}
		put()
		select {
		case got := <-seen:
			if got != want+1 {
				t.Fatalf("saw %d, want %d", got, want+1)
			}
		case <-ctx.Done():
			t.Fatalf("event %d was not seen", want+1)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
