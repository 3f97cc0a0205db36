package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// attic is a session whose bodies are too large for the journal.
type attic struct {
	*testing.T
	srv       *bustest.Server
	in, turns *bus.Conn
	s         session.ID
}

func newAttic(t *testing.T) attic {
	t.Helper()
	srv := bustest.New(t, intake, deleter)
	return attic{t, srv, srv.Connect(t, "intake"), srv.Connect(t, "turns"), id(t, "one")}
}

var large = strings.Repeat("large ", 20_000) //nolint:gochecknoglobals // a constant

func (a attic) append(s session.ID, body messagev1.Received, guess uint64) (uint64, error) {
	return a.in.Journal().AppendFact(a.Context(), envelope.Event{Session: s, Body: body}, guess)
}

func (a attic) post(s session.ID, body messagev1.Received) uint64 {
	a.Helper()
	cursor, err := a.append(s, body, 0)
	if err != nil {
		a.Fatal(err)
	}
	return cursor
}

func (a attic) put(data string) messagev1.Received {
	a.Helper()
	digest, err := a.in.PutFile(a.Context(), a.s, []byte(data))
	if err != nil {
		a.Fatal(err)
	}
	return messagev1.Received{From: messagev1.Sender{ID: "local"}, Files: []messagev1.File{{Kind: messagev1.Photo, Digest: digest}}}
}

// bury appends a tombstone.
func (a attic) bury() uint64 {
	a.Helper()
	j := a.turns.Journal()
	for {
		last, err := j.Last(a.Context(), a.s)
		if err != nil {
			a.Fatal(err)
		}
		stone, err := j.Append(a.Context(), envelope.Event{Session: a.s, Prev: last, Body: turnv1.SessionDeleted{By: "cli"}})
		if _, lost := errors.AsType[*bus.Conflict](err); lost {
			continue
		}
		if err != nil {
			a.Fatal(err)
		}
		return stone
	}
}

func (a attic) purge(stone uint64) {
	a.Helper()
	if _, err := bus.PurgeSession(a.Context(), a.srv.Admin(), a.s, stone); err != nil {
		a.Fatal(err)
	}
}

func (a attic) objects() []bus.Object {
	a.Helper()
	all, err := bus.Objects(a.Context(), a.srv.Admin(), a.s)
	if err != nil {
		a.Fatal(err)
	}
	return all
}

// whole fails the test unless all that events of the session name is there.
func (a attic) whole(ctx context.Context, s session.ID, events int) {
	a.Helper()
	all, err := a.turns.History(ctx, s, 0)
	if err != nil {
		a.Fatal(err)
	}
	if events > 0 && len(all) != events {
		a.Errorf("%d events, want %d", len(all), events)
	}
	for _, ev := range all {
		switch b := ev.Body.(type) {
		case envelope.Unknown:
			a.Errorf("event %d: %v", ev.Cursor, b.Err)
		case messagev1.Received:
			for _, f := range b.Files {
				if _, err := a.in.GetFile(ctx, s, f.Digest); err != nil {
					a.Errorf("event %d: %v", ev.Cursor, err)
				}
			}
		}
	}
}

// stored is how many messages the object store has, of descriptions and chunks.
func (a attic) stored() uint64 {
	a.Helper()
	stream, err := a.srv.Admin().JetStream().Stream(a.Context(), "OBJ_"+subject.Blobs)
	if err != nil {
		a.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func TestPurgeTakesBodies(t *testing.T) {
	a := newAttic(t)
	other := id(t, "one more")
	a.post(other, received(large))
	kept := a.stored()
	a.post(a.s, received(large))
	a.post(a.s, received(large+"again"))
	a.post(a.s, a.put("a picture"))
	a.put("that no message has ever named")
	if n := len(a.objects()); n != 4 {
		t.Fatalf("%d objects", n)
	}
	stone := a.bury()
	a.purge(stone)
	if n := a.stored(); n != kept || len(a.objects()) != 0 {
		t.Errorf("the store has %d messages, %d without the session", n, kept)
	}
	a.whole(t.Context(), other, 1)
	a.post(a.s, received(large))
	a.post(a.s, a.put("a picture"))
	a.purge(stone) // again, with news above
	a.whole(t.Context(), a.s, 3)
	a.purge(a.bury())
	if n := a.stored(); n != kept {
		t.Errorf("the store has %d messages, %d without the session", n, kept)
	}
}

// TestBodyUsedAgain is about what is put, or found there, between the look of a purge and what it does.
func TestBodyUsedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		news func(a attic) // after the look
		left int
	}{
		{"nothing", func(attic) {}, 0},
		{"a body", func(a attic) { a.post(a.s, received(large)) }, 1},
		{"a file that is put again", func(a attic) { a.post(a.s, a.put("a picture")) }, 1},
		{"a file that is put, and named later", func(a attic) { a.put("a picture") }, 1},
		{"both", func(a attic) { a.post(a.s, received(large)); a.post(a.s, a.put("a picture")) }, 2},
		{"others", func(a attic) { a.post(a.s, received(large+"!")); a.post(a.s, a.put("a drawing")) }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAttic(t)
			a.post(a.s, received(large))
			picture := a.put("a picture")
			a.post(a.s, picture)
			stone := a.bury()
			seen := a.objects()
			c.news(a)
			for _, o := range seen {
				if err := o.Purge(t.Context(), a.srv.Admin(), stone); err != nil {
					t.Fatal(err)
				}
			}
			if n := len(a.objects()); n != c.left {
				t.Errorf("%d objects are left, want %d", n, c.left)
			}
			a.whole(t.Context(), a.s, 0)
			if c.left > 0 && strings.Contains(c.name, "later") {
				a.post(a.s, picture)
			}
			a.purge(stone)
			a.whole(t.Context(), a.s, 0)
		})
	}
}

// TestFileOfADeletedPast was put before the tombstone and is named by a message above it.
func TestFileOfADeletedPast(t *testing.T) {
	a := newAttic(t)
	last := a.post(a.s, received("hi"))
	first, second := a.put("a picture"), a.put("another")
	stone := a.bury()
	if _, err := a.append(a.s, first, last); err != nil { // it is still there, and held by this
		t.Fatal(err)
	}
	a.purge(stone)
	if _, err := a.append(a.s, second, last); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "send it again") {
		t.Errorf("%v", err)
	}
	a.post(a.s, a.put("another"))
	a.whole(t.Context(), a.s, 3)
}

// TestHoldLosesToThePurge: who has seen an object and comes too late sees that it did.
func TestHoldLosesToThePurge(t *testing.T) {
	a := newAttic(t)
	a.post(a.s, received(large))
	stone := a.bury()
	seen := a.objects()[0]
	a.purge(stone)
	if overtaken, err := seen.Hold(t.Context(), a.in, stone); !overtaken || err != nil {
		t.Errorf("%t %v", overtaken, err)
	}
	a.post(a.s, received(large))
	a.whole(t.Context(), a.s, 2)
}

// TestOldObjects do not say as of when they are held.
func TestOldObjects(t *testing.T) {
	a := newAttic(t)
	a.post(a.s, received(large+"below"))
	stone := a.bury()
	a.post(a.s, received(large))
	a.post(a.s, a.put("a picture"))
	for _, o := range a.objects() {
		if err := o.Age(t.Context(), a.srv.Admin()); err != nil {
			t.Fatal(err)
		}
	}
	a.purge(stone)
	a.whole(t.Context(), a.s, 3)
	if n := len(a.objects()); n != 2 {
		t.Errorf("%d objects", n)
	}
	a.purge(a.bury())
	if n := a.stored(); n != 0 {
		t.Errorf("the store has %d messages", n)
	}
}

// TestPurgeGoesOn where an earlier one died.
func TestPurgeGoesOn(t *testing.T) {
	a := newAttic(t)
	a.post(a.s, received(large))
	a.post(a.s, received(large+"again"))
	stone := a.bury()
	for _, o := range a.objects() {
		if err := o.Doom(t.Context(), a.srv.Admin()); err != nil {
			t.Fatal(err)
		}
	}
	a.purge(stone)
	if n := a.stored(); n != 0 {
		t.Errorf("the store has %d messages", n)
	}
}

// TestDeletedUnderItsWriters: writers use the same few bodies and files again and again while their session is deleted
// and purged under them. What the journal has at the end is whole.
func TestDeletedUnderItsWriters(t *testing.T) {
	a := newAttic(t)
	first := a.post(a.s, received("hi"))
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 25 {
				guess := uint64(0)
				if i%2 == 0 {
					guess = first
				}
				body := received(large + fmt.Sprint((w+i)%2))
				if i%3 == 0 {
					digest, err := a.in.PutFile(t.Context(), a.s, bytes.Repeat([]byte{byte(i % 2)}, 300<<10))
					if err != nil {
						t.Error(err)
						return
					}
					body = messagev1.Received{Files: []messagev1.File{{Digest: digest}}}
				}
				_, err := a.append(a.s, body, guess)
				if err != nil && !strings.Contains(err.Error(), "send it again") {
					t.Error(err)
				}
			}
		})
	}
	for range 12 {
		stone := a.bury()
		a.purge(stone)
		a.whole(t.Context(), a.s, 0)
	}
	wg.Wait()
	a.whole(t.Context(), a.s, 0)
	a.purge(a.bury())
	if n := len(a.objects()); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}

// TestPurgeOfAForgedDescription: whose chunks an object says that it has is no pattern for those of others.
func TestPurgeOfAForgedDescription(t *testing.T) {
	for _, nuid := range []string{">", "*"} {
		a := newAttic(t)
		a.post(a.s, messagev1.Received{Text: large})
		other := id(t, "other")
		a.post(other, messagev1.Received{Text: large + "of another"})
		if err := a.objects()[0].Forge(t.Context(), a.turns, nuid); err != nil {
			t.Fatal(err)
		}
		a.purge(a.bury())
		a.whole(t.Context(), other, 1)
	}
}
