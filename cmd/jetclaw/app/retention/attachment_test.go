package retention_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestAttachmentsAreArchived: what people have sent goes with its session, and is kept beside the archive.
func TestAttachmentsAreArchived(t *testing.T) {
	h := build(t)
	s, data := id(t, "s"), []byte("a picture")
	digest, err := h.intake.PutFile(t.Context(), s, data)
	if err != nil {
		t.Fatal(err)
	}
	ev := envelope.Event{Session: s, Time: today.Add(-200 * day), Body: messagev1.Received{
		From: messagev1.Sender{ID: "local"}, Text: "look", Files: []messagev1.File{
			{Kind: messagev1.Photo, Digest: digest}, {Kind: messagev1.Photo, Digest: strings.Repeat("0", 64)}, {Kind: messagev1.Photo},
		},
	}}
	h.intake.Journal().Stamp(&ev)
	at, err := h.intake.Journal().AppendFact(t.Context(), ev, 0)
	if err != nil {
		t.Fatal(err)
	}
	over := turnv1.Cancelled{Answers: []string{ev.ID}, By: ev.ID, Reason: turnv1.Stopped}
	if _, err := h.turns.Journal().Append(t.Context(), envelope.Event{Session: s, Prev: at, Time: ev.Time, Body: over}); err != nil {
		t.Fatal(err)
	}
	h.live()
	if got := h.prune(h.pruner(h.bus(), retention.Policy{Dormant: 180 * day})); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if kept, err := os.ReadFile(filepath.Join(h.dir, "files", digest)); err != nil || !bytes.Equal(kept, data) {
		t.Errorf("%q, %v", kept, err)
	}
	if _, err := h.intake.GetFile(t.Context(), s, digest); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it is still in the object store: %v", err)
	}
}
