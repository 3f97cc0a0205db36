package trial

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Story is a verdict, and what has to be told beside it when it is bad.
type Story struct {
	Verdict judge.Verdict
	Lives   []Life         // of the daemon, where it was killed
	Home    string         // what is kept of the run
	Journal []store.Record // in the order of their cursors
}

const (
	shownViolations = 12
	shownSessions   = 4
	shownEvents     = 120
)

// Print shows the evidence: violations, then all that happened in the first sessions concerned.
func (s Story) Print(p console.Printer) {
	p.Note("\n%d violations:", len(s.Verdict.Violations))
	said := map[judge.Kind]int{}
	for _, v := range s.Verdict.Violations {
		if said[v.Kind]++; said[v.Kind] <= shownViolations {
			p.Note("  %s %s @%d: %s", v.Kind, v.Session, v.Cursor, v.Text)
		}
	}
	p.Note("  (at most %d of a kind; verdict.json has all)", shownViolations)
	var seen []session.ID
	for _, v := range s.Verdict.Violations {
		if v.Session != "" && !slices.Contains(seen, v.Session) && len(seen) < shownSessions {
			seen = append(seen, v.Session)
		}
	}
	for _, id := range seen {
		p.Note("\n%s:\n%s", id, s.of(id))
	}
	p.Note("\nkept: %s", s.Home)
}

// of is all that happened in a session, with the kills that fell into it.
func (s Story) of(id session.ID) string {
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	for _, e := range s.Journal {
		if e.Session == id {
			b, err := json.Marshal(e.Body)
			if err != nil {
				b = []byte(err.Error())
			}
			lines = append(lines, line{e.Time, fmt.Sprintf("%d after %d  %s  %s  %.250s", e.Cursor, e.Prev, e.Kind(), e.Source, b)})
		}
	}
	if len(lines) == 0 {
		return "  no event"
	}
	first, last := lines[0].at, lines[len(lines)-1].at
	for i, l := range s.Lives {
		if l.Killed.Before(first) || l.Killed.After(last) {
			continue
		}
		lines = append(lines, line{l.Killed, fmt.Sprintf("— kill %d —", i+1)})
		if !l.Ready.IsZero() {
			lines = append(lines, line{l.Ready, "— ready —"})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, l := range lines[:min(len(lines), shownEvents)] {
		fmt.Fprintf(&b, "  %s  %s\n", l.at.UTC().Format("15:04:05.000"), l.text)
	}
	return b.String()
}

// Timeline has the kills, and what was answered between them.
func (s Story) Timeline(to *result.Result) {
	if len(s.Journal) == 0 {
		return
	}
	began := s.Journal[0].Stored
	to.Series = append(to.Series, PerSecond("Turns answered", "turn.completed", s.Journal))
	var restarts []judge.Restart
	for _, l := range s.Lives {
		restarts = append(restarts, l.Restart)
	}
	res := judge.Resumptions(EventsOf(s.Journal), restarts)
	again := map[int]float64{}
	for i, k := range res.Of {
		again[k] = res.First[i].Seconds()
	}
	for i, l := range s.Lives {
		m := result.Mark{What: "kill", At: max(0, l.Killed.Sub(began).Seconds())}
		if !l.Ready.IsZero() {
			ready := l.Ready.Sub(l.Started).Seconds()
			m.Ready = &ready
			if a, ok := again[i]; ok {
				m.Again = &a
			}
		}
		to.Marks = append(to.Marks, m)
	}
}

// EventsOf leaves out when they were stored.
func EventsOf(journal []store.Record) []envelope.Event {
	return stat.Each(journal, func(r store.Record) envelope.Event { return r.Event })
}

// PerSecond counts events of a kind in each second of a journal.
func PerSecond(name, kind string, journal []store.Record) result.Series {
	s := result.Series{Name: name, Unit: "turns/s"}
	began, last := journal[0].Stored, journal[len(journal)-1].Stored
	counts := make([]float64, int(last.Sub(began).Seconds())+1)
	for _, r := range journal {
		if r.Kind() == kind {
			counts[max(0, int(r.Stored.Sub(began).Seconds()))]++
		}
	}
	for i, n := range counts {
		s.Points = append(s.Points, result.Point{At: float64(i), Value: n})
	}
	return s
}
