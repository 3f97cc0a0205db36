package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jetclaw/jetclaw/services/turns"
)

// stream shows an answer as it comes and makes it whole at the end, so that its text is shown exactly once. Deltas are
// lossy: after a gap it waits for the end.
type stream struct {
	out   io.Writer
	live  bool // deltas are shown
	turn  string
	round int
	try   int
	last  int             // N of the last delta
	shown strings.Builder // of this round and attempt
	lost  bool            // a delta of this attempt is missing
	dirty bool            // something is on the line
}

// begin expects the answer of a turn.
func (s *stream) begin(turn string) {
	s.end()
	*s = stream{out: s.out, live: s.live, turn: turn}
}

// delta shows a piece.
func (s *stream) delta(d turns.Delta) {
	if !s.live || d.Type != turns.DeltaType || d.Turn != s.turn {
		return
	}
	if d.Round != s.round || d.Attempt != s.try {
		s.end()
		s.round, s.try, s.last, s.lost = d.Round, d.Attempt, 0, false
		s.shown.Reset()
	}
	if d.N <= s.last || s.lost {
		return
	}
	if d.N != s.last+1 {
		s.lost = true
		return
	}
	s.last = d.N
	s.shown.WriteString(d.Text)
	s.write(forTerminal(d.Text))
}

// finish shows what is missing of the whole text, or all of it when what was shown was something else.
func (s *stream) finish(text string) {
	rest, ok := strings.CutPrefix(text, s.shown.String())
	if !ok {
		s.end()
		rest = text
	}
	if s.live {
		rest = forTerminal(rest)
	}
	s.write(rest)
	s.end()
	s.shown.Reset()
	s.turn = ""
}

func (s *stream) write(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(s.out, text)
	s.dirty = !strings.HasSuffix(text, "\n")
}

// end closes the line.
func (s *stream) end() {
	if s.dirty {
		fmt.Fprintln(s.out)
		s.dirty = false
	}
}

// decodeDelta reads a message of live.<session>; ok is false for anything else.
func decodeDelta(data []byte) (d turns.Delta, ok bool) {
	err := json.Unmarshal(data, &d)
	return d, err == nil && d.Type == turns.DeltaType
}
