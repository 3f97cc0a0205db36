package judge

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Resumption is how soon interrupted turns went on after a restart, counted from ready. A turn goes on with its
// turn.resumed, or with its end.
type Resumption struct {
	First      []time.Duration // the first turn of each restart that had interrupted ones
	Of         []int           // which restart that was, of each
	Turns      []time.Duration // every interrupted turn
	Overtaken  int             // interrupted turns that had not gone on when the next kill came
	LongestCut time.Duration   // the longest that one of these had waited by then
}

// span is the life of one turn: when it was claimed, when anything about it was appended, when it ended.
type span struct {
	times []time.Time
	ended bool
}

// Resumptions measures the journal against the restarts, which are in order of time.
func Resumptions(journal []envelope.Event, restarts []Restart) Resumption {
	var out Resumption
	spans := spansOf(journal)
	for k, r := range restarts {
		if r.Ready.IsZero() { // killed again before it was ready: the next restart counts
			continue
		}
		var next time.Time
		if k+1 < len(restarts) {
			next = restarts[k+1].Killed
		}
		first, some := time.Duration(0), false
		for _, s := range spans {
			after, cut := s.interrupted(r.Killed)
			if !cut {
				continue
			}
			if after.IsZero() || !next.IsZero() && after.After(next) {
				if !next.IsZero() {
					out.Overtaken++
					out.LongestCut = max(out.LongestCut, next.Sub(r.Ready))
				}
				continue
			}
			d := max(0, after.Sub(r.Ready))
			out.Turns = append(out.Turns, d)
			if !some || d < first {
				first, some = d, true
			}
		}
		if some {
			out.First, out.Of = append(out.First, first), append(out.Of, k)
		}
	}
	return out
}

// interrupted tells whether the turn was running at t, and when it went on (zero: never).
func (s *span) interrupted(t time.Time) (after time.Time, cut bool) {
	if s.times[0].After(t) || s.ended && !s.times[len(s.times)-1].After(t) {
		return time.Time{}, false
	}
	for _, at := range s.times {
		if at.After(t) {
			return at, true
		}
	}
	return time.Time{}, true
}

func spansOf(journal []envelope.Event) []*span {
	var all []*span
	open := map[string]*span{}
	at := func(id string, e envelope.Event, ends bool) {
		s := open[id]
		if s == nil {
			s = &span{}
			open[id] = s
			all = append(all, s)
		}
		s.times = append(s.times, e.Time)
		s.ended = s.ended || ends
	}
	for _, e := range journal {
		switch b := e.Body.(type) {
		case turnv1.Started:
			at(b.Turn, e, false)
		case turnv1.Continued:
			at(b.Turn, e, false)
		case turnv1.Resumed:
			at(b.Turn, e, false)
		case turnv1.Stepped:
			at(b.Turn, e, false)
		case turnv1.Completed:
			at(b.Turn, e, true)
		case turnv1.Failed:
			at(b.Turn, e, true)
		case turnv1.Cancelled:
			if b.Turn != "" { // else it took waiting messages only
				at(b.Turn, e, true)
			}
		}
	}
	return all
}
