package cli

import (
	"encoding/json"
	"strings"

	"github.com/jetclaw/jetclaw/services/turns"
)

// stream shows an answer as it comes and makes it whole at the end, so that its text is shown exactly once. Deltas are
// lossy: after a gap it waits for the end.
type stream struct {
	screen screen
	live   bool // deltas are shown
	turn   string
	round  int
	try    int
	last   int             // N of the last delta
	shown  strings.Builder // of this round and attempt
	lost   bool            // a delta of this attempt is missing
}

// begin expects the answer of a turn.
func (s *stream) begin(turn string) {
	s.screen.finish()
	*s = stream{screen: s.screen, live: s.live, turn: turn}
}

// delta shows a piece.
func (s *stream) delta(d turns.Delta) {
	if !s.live || d.Type != turns.DeltaType || d.Turn != s.turn {
		return
	}
	if d.Round != s.round || d.Attempt != s.try {
		s.screen.finish()
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
	s.screen.grow(forTerminal(d.Text))
}

// finish shows what is missing of the whole text, or all of it when what was shown was something else.
func (s *stream) finish(text string) {
	rest, ok := strings.CutPrefix(text, s.shown.String())
	if !ok {
		s.screen.drop()
		rest = text
	}
	if s.live {
		rest = forTerminal(rest)
	}
	s.screen.grow(rest)
	s.cut()
}

// cut ends an answer: more of it does not come. What has come stays.
func (s *stream) cut() {
	s.screen.finish()
	s.shown.Reset()
	s.turn = ""
}

// ended cuts the answer of a turn.
func (s *stream) ended(turn string) {
	if turn != "" && turn == s.turn {
		s.cut()
	}
}

// end makes room for something else. The answer may go on below it.
func (s *stream) end() { s.screen.yield() }

// stepped ends what the model has said in this round: it asks for a tool now. What it has said is shown whole, as it is why a
// person is asked; what it says next is new.
func (s *stream) stepped() {
	s.screen.finish()
	s.shown.Reset()
}

// showing says whether the person sees that an answer is coming.
func (s *stream) showing() bool { return s.screen.showing() }

// decodeDelta reads a message of live.<session>; ok is false for anything else.
func decodeDelta(data []byte) (d turns.Delta, ok bool) {
	err := json.Unmarshal(data, &d)
	return d, err == nil && d.Type == turns.DeltaType
}
