package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// maxLine bounds what somebody else has written and stands in a text of ours, in bytes.
const maxLine = 500

// oneLine is a text of somebody else's as one line without anything invisible: it must not look like more than it is.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine-len("…")], "") + "…"
	}
	return text
}

// quoted sets a text off from ours, line by line: what runs can hold any words, even those of a question.
func quoted(text string) string {
	return "│ " + strings.ReplaceAll(text, "\n", "\n│ ")
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// question is the whole question for a text channel, and the end of it that says how to answer there.
func (a Approval) question(b approvalv1.Requested) (text, ways string) {
	if a.Form != nil {
		return a.form(b)
	}
	var t strings.Builder
	fmt.Fprintf(&t, "Approval %s: may %s run?\n", a.ID, oneLine(b.Tool))
	for _, why := range b.Why {
		fmt.Fprintf(&t, "- %s\n", oneLine(why))
	}
	fmt.Fprintf(&t, "Exactly this would run:\n%s\n", quoted(b.Shown))
	if b.Grant != "" {
		fmt.Fprintf(&t, "Always would mean, from now on: %s.\n", oneLine(b.Fixed))
	}
	fmt.Fprintf(&t, "It is open until %s; then the answer is no.", clock(b.Expires))
	var w strings.Builder
	fmt.Fprintf(&w, "\n/approve %s allows it once.\n", a.ID)
	if b.Grant != "" {
		fmt.Fprintf(&w, "/approve %s always allows it from now on.\n", a.ID)
	}
	fmt.Fprintf(&w, "/deny %s and a reason says no.", a.ID)
	return t.String() + w.String(), w.String()
}

func (a Approval) decidedText(b approvalv1.Decided, shown string) string {
	o := decided(b)
	o.Form = a.Form != nil
	by := oneLine(o.By)
	if b.Via != "" {
		by += " through " + b.Via
	}
	t := fmt.Sprintf("Approval %s: %s was %s by %s.", a.ID, oneLine(a.Parked.Tool), o.words(), by)
	switch {
	case shown == "":
	case o.Form:
		t += " This is sent:\n" + quoted(shown)
	default:
		t += " It runs as:\n" + quoted(shown)
	}
	if b.Reason != "" {
		t += " Reason: " + b.Reason
	}
	return t
}

// words say how it was decided.
func (o Settled) words() string {
	t := "denied"
	switch o.Decision {
	case callv1.AllowOnce:
		if t = "allowed once"; o.Form {
			t = "answered"
		}
	case callv1.AllowAlways:
		t = "allowed always"
	case callv1.Deny:
	}
	switch {
	case o.Edited == "":
	case o.Form:
		t += " with other values"
	default:
		t += " with other arguments"
	}
	return t
}

func (a Approval) expiredText() string {
	if !a.Asked {
		return fmt.Sprintf("Approval %s for %s expired before anybody could be asked. %s", a.ID, oneLine(a.Parked.Tool), nothing(a.Form != nil))
	}
	return fmt.Sprintf("Approval %s for %s has expired: nobody answered in time. %s", a.ID, oneLine(a.Parked.Tool), nothing(a.Form != nil))
}

func (a Approval) voidedText(reason string) string {
	return fmt.Sprintf("Approval %s for %s is void: %s. %s", a.ID, oneLine(a.Parked.Tool), reason, nothing(a.Form != nil))
}

func (a Approval) noAlways() Ruling {
	return wrong("Approval %s cannot be given for always. /approve %s allows it once.", a.ID, a.ID)
}

func wrong(format string, args ...any) Ruling {
	return Ruling{Kind: Wrong, Text: fmt.Sprintf(format, args...)}
}

func missing(id string) Ruling {
	return Ruling{Kind: Missing, Text: fmt.Sprintf("There is no approval %s here, or it was settled long ago.", oneLine(id))}
}

func stranger(id string) Ruling {
	what := "This"
	if id != "" {
		what = "Approval " + oneLine(id)
	}
	return Ruling{Kind: Stranger, Text: what + " is not yours to decide: only those named under approvers in the configuration may " +
		"(without it, the owners)."}
}

// vague is what an answer without an id is told that could not be bound to one approval.
func (s State) vague(n Submission, r Rules) Ruling {
	switch n.Vague {
	case nothingOpen:
		return Ruling{Kind: Missing, Text: "There is nothing to decide here."}
	case strange:
		return stranger("")
	case several, crossed:
	}
	var open []string
	for _, a := range s.Open {
		if a.Asked && !a.Over && r.may(n.By, a.Approvers) {
			open = append(open, fmt.Sprintf("%s (%s)", a.ID, oneLine(a.Parked.Tool)))
		}
	}
	slices.Sort(open)
	why := "Several approvals were open"
	if n.Vague == crossed {
		why = "Another approval was settled just before"
	}
	if len(open) == 0 {
		return wrong("%s when you answered; none is any more.", why)
	}
	return wrong("%s when you answered: name the one that you mean. Open: %s.", why, strings.Join(open, ", "))
}
