package timeline

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// place adds an event where it belongs, and returns its entry.
func (b *builder) place(ev envelope.Event) *Entry {
	switch body := ev.Body.(type) {
	case messagev1.Event:
		return b.message(ev, body)
	case turnv1.Event:
		return b.turnEvent(ev, body)
	case callv1.Event:
		return b.callEvent(ev, body)
	case approvalv1.Event:
		return b.approvalEvent(ev, body)
	case deliveryv1.Event:
		return b.deliveryEvent(ev, body)
	case noticev1.Posted:
		from := "notice of " + body.Service
		if body.By != "" {
			from = "said by the program " + body.By + " in the agent's name"
		}
		return b.leaf(b.answered(body.Answers), ev, from+": "+body.Text)
	case accessv1.Event:
		return b.leaf(nil, ev, accessText(body))
	case envelope.Unknown:
		return b.leaf(nil, ev, unreadable(body))
	default:
		return b.leaf(nil, ev, "")
	}
}

// answered is what a notice or an outcome belongs to: the first thing that it answers and that is in the session.
func (b *builder) answered(ids []string) *Entry {
	for _, id := range ids {
		if e := host(b.at[id]); e != nil {
			return e
		}
	}
	return nil
}

func (b *builder) message(ev envelope.Event, body messagev1.Event) *Entry {
	switch m := body.(type) {
	case messagev1.Received:
		e := b.leaf(nil, ev, received(m))
		e.Kind, e.Facts = MessageKind, &Message{From: m.From.ID, Name: short(m.From.Name)}
		return e
	case messagev1.Control:
		e := b.leaf(nil, ev, strings.TrimSpace("/"+string(m.Verb)+" "+m.Argument)+", by "+person(m.From))
		e.Kind = ControlKind
		return e
	case messagev1.Edited:
		return b.leaf(b.at[m.Message], ev, "edited by "+person(m.From)+": "+m.Text)
	case messagev1.Refused:
		return b.leaf(nil, ev, fmt.Sprintf("refused, from %s: %s (%d bytes): %s", person(m.From), m.Reason, m.Bytes, m.Detail))
	case messagev1.Reacted:
		return b.leaf(nil, ev, reacted(m))
	case messagev1.Quarantined:
		return b.leaf(nil, ev, fmt.Sprintf("cannot be read, from %s.%s: %s (%d bytes): %s", m.Channel, m.Account, m.Source, m.Bytes, m.Reason))
	case messagev1.Decision:
		return b.leaf(b.decisionFor(m.Approval), ev, submitted(m))
	case messagev1.PermissionAnswer:
		verdict := "no"
		if m.Allow {
			verdict = "yes"
		}
		return b.leaf(nil, ev, verdict+" to the question "+m.Request+" of a program outside, by "+person(m.From))
	}
	return b.leaf(nil, ev, "")
}

// decisionFor is the approval that a person's answer is about: the one that it names, else the only one that is open.
func (b *builder) decisionFor(id string) *Entry {
	if id != "" {
		return b.approvals[id]
	}
	var open *Entry
	for _, a := range b.approvals {
		if a.Open && open != nil {
			return nil
		}
		if a.Open {
			open = a
		}
	}
	return open
}

func received(m messagev1.Received) string {
	var s strings.Builder
	fmt.Fprintf(&s, "from %s: ", person(m.From))
	for _, f := range m.Files {
		fmt.Fprintf(&s, "[%s] ", strings.TrimSpace(string(f.Kind)+" "+f.Name))
	}
	if m.Forwarded != "" {
		fmt.Fprintf(&s, "(forwarded, of %s) ", m.Forwarded)
	}
	return s.String() + m.Text
}

func reacted(m messagev1.Reacted) string {
	if len(m.Emoji) == 0 {
		return fmt.Sprintf("reaction %s taken off message %s by %s", strings.Join(m.Removed, " "), m.Native, person(m.From))
	}
	return fmt.Sprintf("reaction %s on message %s by %s", strings.Join(m.Emoji, " "), m.Native, person(m.From))
}

func submitted(m messagev1.Decision) string {
	s := fmt.Sprintf("answer of %s: %s", person(m.From), m.Decision)
	if m.Button {
		s += ", by a button"
	}
	if m.Reason != "" {
		s += ": " + m.Reason
	}
	return s
}

func person(s messagev1.Sender) string {
	if s.Name == "" {
		return s.ID
	}
	return s.ID + " (" + s.Name + ")"
}

func accessText(body accessv1.Event) string {
	switch a := body.(type) {
	case accessv1.Requested:
		return fmt.Sprintf("%s (%s) asks to be let in at %s.%s with code %s", a.Who, a.Name, a.Channel, a.Account, a.Code)
	case accessv1.Granted:
		role := ""
		if a.Owner {
			role = " as an owner"
		}
		return fmt.Sprintf("%s (%s) is let in%s at %s.%s by %s", a.Who, a.Name, role, a.Channel, a.Account, a.By)
	case accessv1.Revoked:
		return fmt.Sprintf("%s is sent away from %s.%s by %s", a.Who, a.Channel, a.Account, a.By)
	case accessv1.Moved:
		return fmt.Sprintf("group %s of %s.%s is now %s", a.From, a.Channel, a.Account, a.To)
	}
	return ""
}

// unreadable says why an event shows nothing.
func unreadable(u envelope.Unknown) string {
	for _, t := range registry.All() {
		if t.Name == u.Type {
			if u.Err == nil {
				return "cannot be read"
			}
			return "cannot be read: " + u.Err.Error()
		}
	}
	return "written by a newer jetclaw: " + u.Type
}

// shown is how many characters of a text an entry has.
const shown = 120

// short is a text in one line, cut.
func short(text string) string {
	if len(text) > 16*shown { // no more than this is looked at
		text = strings.ToValidUTF8(text[:16*shown], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= shown {
		return text
	}
	return string([]rune(text)[:shown-1]) + "…"
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
