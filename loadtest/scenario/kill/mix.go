package kill

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// mixReport says what beside plain messages a run consisted of, and what the kills met.
type mixReport struct {
	Name      string           `json:"name"`
	Roles     []roleCount      `json:"roles"`
	Kills     int              `json:"kills"`     // all of them, the early ones included
	Moments   judge.Moments    `json:"moments"`   // kills by what went on, as the journal has it
	Summaries int              `json:"summaries"` // kills that met an open request to summarise
	Fallbacks int              `json:"fallbacks"` // kills that met an open request to the model that stands in for another
	Model     fakemodel.Counts `json:"model"`
	claimed   int              // compactions in the journal
	silent    []session.ID     // sessions that did not answer after all kills
}

// roleCount is what became of the messages of all senders of a role.
type roleCount struct {
	Role      string `json:"role"`
	Sessions  int    `json:"sessions"`
	Alive     int    `json:"alive"` // answered another message after all kills
	Accepted  int    `json:"accepted"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
}

// mixed counts.
func (k *run) mixed(ev judge.Evidence) *mixReport {
	m := &mixReport{Name: k.o.Mix, Model: k.model.Counts(), Kills: len(k.life)}
	var kills []time.Time
	for _, l := range k.life {
		kills = append(kills, l.Killed)
		if l.Summaries > 0 {
			m.Summaries++
		}
		if l.Fallbacks > 0 {
			m.Fallbacks++
		}
	}
	m.Moments = judge.MomentsOf(ev.Journal, "followup", kills)
	for _, e := range ev.Journal {
		if e.Kind() == "compaction.started" {
			m.claimed++
		}
	}
	at := map[string]int{}
	for i, r := range k.crowd.Roles() {
		at[r] = i
		m.Roles = append(m.Roles, roleCount{Role: r})
	}
	for id, p := range k.crowd.Played {
		c := &m.Roles[at[p.Role]]
		c.Sessions++
		if p.Last {
			c.Alive++
		} else {
			m.silent = append(m.silent, id)
		}
	}
	for _, msg := range k.crowd.Messages {
		c := &m.Roles[at[k.crowd.Played[msg.Session].Role]]
		c.Accepted++
		switch msg.Status {
		case "completed":
			c.Completed++
		case "failed":
			c.Failed++
		case "cancelled":
			c.Cancelled++
		}
	}
	return m
}

func (m *mixReport) violations() (out []judge.Violation) {
	for _, s := range m.silent {
		out = append(out, judge.Violation{Kind: judge.Stuck, Session: s, Text: "it did not answer another message after all kills"})
	}
	return out
}

// happened are the things that the kills have to meet, else a run proves nothing of them.
func (m *mixReport) happened() []struct {
	name string
	n    int
} {
	type thing = struct {
		name string
		n    int
	}
	if callsTools(m.Name) {
		return []thing{
			{"a tool call that a turn waits for", m.Moments.Calls},
			{"a tool call that was claimed", m.Moments.Claims},
			{"a later round", m.Moments.Rounds},
		}
	}
	return []thing{
		{"a compaction claimed", m.Moments.Compaction},
		{"a summary asked for", m.Summaries},
		{"a fallback asked", m.Fallbacks},
		{"a stop pending", m.Moments.Stop},
		{"a message that waits to steer", m.Moments.Waiting},
		{"a turn that was steered", m.Moments.Steered},
		{"a later round", m.Moments.Rounds},
	}
}

// missing says what no kill has met.
func (m *mixReport) missing() error {
	if m == nil {
		return nil
	}
	var none []string
	for _, t := range m.happened() {
		if t.n == 0 {
			none = append(none, t.name)
		}
	}
	switch {
	case m.claimed > 0 && m.Model.Total.Summaries == 0:
		return errors.New("sessions were compacted and the fake model was never asked to summarise: it does not recognise the request")
	case len(none) > 0:
		return fmt.Errorf("no kill met %s: the run proves too little", strings.Join(none, ", nor "))
	}
	return nil
}

func (m *mixReport) goals() []result.Figure {
	var out []result.Figure
	for _, t := range m.happened() {
		out = append(out, result.Goal("kills that met "+t.name, "> 0", fmt.Sprintf("%d of %d", t.n, m.Kills), t.n > 0))
	}
	return append(out, result.Goal("sessions silent after all kills", "0", fmt.Sprint(len(m.silent)), len(m.silent) == 0).
		As("kill.silent").In("", float64(len(m.silent))))
}

func (m *mixReport) say(p console.Printer, c judge.Counts) {
	if callsTools(m.Name) {
		p.Say("tool calls: %d, outcomes %v; %d claimed again; %d messages stopped", c.Calls, c.Outcomes, c.Again, c.Stopped)
		m.table(p)
		return
	}
	p.Say("compactions: %d claimed, %d done, %d failed; %d model calls answered by a fallback; %d messages steered, %d interrupted, %d stopped",
		c.Events["compaction.started"], c.Events["session.compacted"], c.Events["compaction.failed"], c.Fallbacks, c.Steered, c.Interrupt, c.Stopped)
	m.table(p)
}

// table has a line for each role.
func (m *mixReport) table(p console.Printer) {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "senders\tsessions\talive\taccepted\tcompleted\tfailed\tcancelled\t")
	for _, r := range m.Roles {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.Role, r.Sessions, r.Alive, r.Accepted, r.Completed, r.Failed, r.Cancelled)
	}
	_ = w.Flush()
}
