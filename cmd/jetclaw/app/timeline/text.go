package timeline

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// Style is how a Timeline is shown to a person.
type Style struct {
	Zone   *time.Location
	Colour bool
	Flat   func(string) string // makes foreign text harmless, in one line
}

const (
	dim   = "\x1b[2m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
)

// printer writes one Timeline.
type printer struct {
	Style
	b   strings.Builder
	t   Timeline
	day string // of the last line
}

// Text is the Timeline for a person: what it waits for, a line for each event and turn, and the sums.
func (t Timeline) Text(s Style) string {
	p := &printer{Style: s, t: t}
	events := counted(t.Events, "event")
	if t.Events > 0 {
		events += fmt.Sprintf(", cursors %d to %d", t.First, t.Last)
	}
	fmt.Fprintf(&p.b, "%s, %s\n", p.bold(p.Flat(string(t.Session))), events)
	lead := "waits for "
	for _, w := range t.Waiting {
		fmt.Fprintf(&p.b, "%s%s\n", lead, p.wait(w))
		lead = "      and "
	}
	p.b.WriteByte('\n')
	for _, e := range t.Entries {
		p.entry(e, 0)
	}
	if len(t.Entries) > 0 {
		p.b.WriteByte('\n')
	}
	p.totals()
	return p.b.String()
}

func (p *printer) bold(s string) string { return p.in(bold, s) }

func (p *printer) in(code, s string) string {
	if !p.Colour || s == "" {
		return s
	}
	return code + s + plain
}

// wait is one thing that is waited for, as the end of a sentence.
func (p *printer) wait(w Wait) string {
	var notes []string
	for _, n := range w.Notes {
		notes = append(notes, p.Flat(n))
	}
	if !w.Until.IsZero() {
		switch w.UntilIs {
		case Expires:
			left := w.Until.Sub(p.t.At)
			if left < 0 {
				notes = append(notes, "expired "+long(-left)+" ago")
			} else {
				notes = append(notes, "expires in "+long(left))
			}
		case Deadline:
			notes = append(notes, "until "+p.clock(w.Until))
		case Due: // it is part of what
		}
	}
	s := p.bold(p.Flat(w.What))
	if w.UntilIs == Due && !w.Until.IsZero() {
		s += " at " + p.clock(w.Until)
	}
	if len(notes) > 0 {
		s += " (" + strings.Join(notes, ", ") + ")"
	}
	if !w.Since.IsZero() {
		s += ", since " + p.clock(w.Since)
	}
	return s
}

// clock is a time of day, with its day when that is not today.
func (p *printer) clock(at time.Time) string {
	at, now := at.In(p.Zone), p.t.At.In(p.Zone)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

// entry prints an entry and what stands under it. The first event of a group has no line of its own: the group's begins with it.
func (p *printer) entry(e *Entry, depth int) {
	at, rest := e, e.Entries
	if first := opening(e); first != nil {
		at, rest = first, rest[1:]
	}
	p.line(e, at, depth)
	for _, c := range rest {
		p.entry(c, depth+1)
	}
}

// opening is the first event of a group that says nothing which the group does not say; nil when there is none.
func opening(e *Entry) *Entry {
	if e.Cursor > 0 || e.Kind == TurnKind || len(e.Entries) == 0 {
		return nil
	}
	first := e.Entries[0]
	parked := e.Kind == CallKind && first.Type == callv1.Awaiting{}.EventType() // it says why
	if first.Cursor == 0 || len(first.Entries) > 0 || parked {
		return nil
	}
	return first
}

// line prints what an entry says, at the cursor and time of an event.
func (p *printer) line(e, event *Entry, depth int) {
	at, number, offset := "", "", ""
	if !event.Time.IsZero() {
		local := event.Time.In(p.Zone)
		if day := local.Format(time.DateOnly); day != p.day {
			p.day = day
			fmt.Fprintf(&p.b, "%s\n", p.in(dim, day))
		}
		at = local.Format("15:04:05.000")
	}
	if event.Cursor > 0 {
		number = strconv.FormatUint(event.Cursor, 10)
	}
	if depth > 0 {
		offset = "+" + took(event.Offset)
		if event.Offset < 0 { // by the clock of another machine
			offset = "-" + took(-event.Offset)
		}
	}
	left := p.in(dim, fmt.Sprintf("%7s  %-12s  %9s", number, at, offset))
	fmt.Fprintf(&p.b, "%s\n", strings.TrimRight(left+"  "+strings.Repeat("  ", depth)+p.says(e), " "))
}

// says is what a line tells of an entry.
func (p *printer) says(e *Entry) string {
	switch f := e.Facts.(type) {
	case *Message:
		return p.bold("message") + " " + p.Flat(e.Text) + messageNote(e, f)
	case *Turn:
		return p.bold(fmt.Sprintf("turn %d", f.Number)) + " " + p.Flat(turnText(e, f))
	case *Round:
		return p.bold(fmt.Sprintf("round %d:", f.Round)) + " " + p.Flat(roundText(e, f))
	case *Call:
		return p.bold("call "+p.Flat(f.Tool)) + " " + p.Flat(callText(e, f))
	case *Approval:
		return p.bold("approval") + " " + p.Flat(approvalText(e, f, p.t.At))
	case *Delivery:
		s := p.bold("delivery") + " " + p.Flat(deliveryText(e, f))
		if e.Open && !f.Until.IsZero() {
			s += ", the next attempt at " + p.clock(f.Until)
		}
		return s
	case *Compaction:
		return p.bold("compaction:") + " " + p.Flat(compactionText(e, f))
	case *Hole:
		return p.bold("hole") + fmt.Sprintf(": event %d follows on event %d, which is not in the journal", f.Above, f.Missing)
	}
	if e.Kind == ControlKind {
		return p.bold("command") + " " + p.Flat(e.Text)
	}
	return p.bold(p.Flat(cmp.Or(envelope.KindOf(e.Type), "event"))) + " " + p.Flat(e.Text)
}

func (p *printer) totals() {
	t := p.t.Totals
	fmt.Fprintf(&p.b, "%s: %s, %s, %s; %s\n", p.bold("total"), counted(t.Turns, "turn"), counted(t.Rounds, "model call"),
		counted(t.Calls, "tool call"), t.Spent.text())
	fmt.Fprintf(&p.b, "%s: %s in models, %s in tools, %s waiting for people, %s in queues\n", p.bold("time"),
		took(t.Model), took(t.Tools), took(t.People), took(t.Queue))
}

func (s Spent) text() string {
	return fmt.Sprintf("%d tokens in, %d out, %s", s.Input, s.Output, s.moneyText())
}

// moneyText is the cost; "" of an account that was not made by Build.
func (s Spent) moneyText() string {
	if s.money == "-" {
		return "no cost"
	}
	if s.money == unknownCost {
		return "cost unknown"
	}
	return s.money
}

// took is a duration as people read it.
func took(s Span) string {
	switch d := time.Duration(s); {
	case d == 0:
		return "0 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d.Round(100*time.Microsecond))/float64(time.Millisecond), 'f', -1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second), " 0 s")
	default:
		return long(d)
	}
}

// long is a duration in its largest unit.
func long(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}
