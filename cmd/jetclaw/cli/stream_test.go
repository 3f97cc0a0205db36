package cli

import (
	"bytes"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns"
)

// TestWhatWasSaidComesBeforeTheQuestion: the model's words, which have no end of a line yet, stand before what it asks for;
// and what it says after is shown once.
func TestWhatWasSaidComesBeforeTheQuestion(t *testing.T) {
	var out bytes.Buffer
	rich := &richScreen{out: &out, columns: func() int { return usual }, ticker: &lineTicker{out: &out}}
	s := stream{screen: rich, live: true}
	s.begin("m1/t")
	s.delta(turns.Delta{Type: turns.DeltaType, Turn: "m1/t", Round: 1, Attempt: 1, N: 1, Text: "Let me do that."})
	s.stepped()
	before := out.String()
	if !bytes.HasSuffix([]byte(before), []byte("Let me do that.\n")) {
		t.Errorf("before the question: %q", before)
	}
	s.delta(turns.Delta{Type: turns.DeltaType, Turn: "m1/t", Round: 2, Attempt: 1, N: 1, Text: "Do"})
	s.finish("Done.")
	if after := out.String()[len(before):]; !bytes.HasSuffix([]byte(after), []byte("Done.\n")) || bytes.Contains([]byte(after), []byte("Let me")) {
		t.Errorf("after it: %q", after)
	}
}
