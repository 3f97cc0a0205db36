package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/approvals"
)

// framed sets what others wrote off from our own words, line by line: what runs can hold any words, even those of a question.
func framed(text string) string {
	return "│ " + strings.ReplaceAll(strings.TrimRight(forTerminal(text), "\n"), "\n", "\n│ ")
}

// question is an open approval as a person is asked: all that is needed to decide.
func question(v approvals.View, now time.Time) string {
	var b strings.Builder
	head, would, end := fmt.Sprintf("may %s run? (level %s)", flat(v.Tool), v.Level), "Exactly this would run:", "the answer is no"
	if v.Schema != nil { // a call that runs already asks for something
		head, would, end = fmt.Sprintf("a question from %s, while it runs", flat(v.Tool)), "Exactly this would be sent:", "nothing is sent"
	}
	fmt.Fprintf(&b, "Approval %s: %s\n", flat(v.Approval), head)
	for _, why := range v.Why {
		fmt.Fprintf(&b, "- %s\n", flat(why))
	}
	fmt.Fprintf(&b, "%s\n%s\n", would, framed(v.Shown))
	if v.Schema != nil {
		fmt.Fprintf(&b, "Other values: jetclaw approvals approve %s --edit FILE (a JSON object)\n", flat(v.Approval))
	}
	if v.Always {
		fmt.Fprintf(&b, "Always would hold for: %s\n", flat(v.Fixed))
	}
	fmt.Fprintf(&b, "In %s %s.\n", span(v.Expires.Sub(now)), end)
	return b.String()
}

// elsewhere says how to answer an approval later.
func elsewhere(v approvals.View) string {
	always := ""
	if v.Always {
		always = " [--always]"
	}
	if v.Schema != nil {
		always = " [--edit FILE]"
	}
	return fmt.Sprintf("  jetclaw approvals approve %s%s\n  jetclaw approvals deny %s [--reason TEXT]\n", flat(v.Approval), always, flat(v.Approval))
}

// wholeApproval is all that is known of one.
func wholeApproval(v approvals.View, now time.Time) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	status := v.Status
	if v.Status == approvals.Open {
		status += ", since " + span(now.Sub(v.Since))
	}
	line("approval", flat(v.Approval))
	line("status", status)
	line("session", string(v.Session))
	tool := flat(v.Tool)
	if v.Executor != "" {
		tool += ", run by " + flat(v.Executor)
	}
	line("tool", tool)
	line("call", flat(v.Call)+" of turn "+flat(v.Turn))
	line("approvers", flat(strings.Join(v.Approvers, ", ")))
	if v.Shown == "" { // it is over: the rest of it is in the journal
		line("expires", v.Expires.Local().Format(time.DateTime))
		line("decision", flat(string(v.Decision)))
		line("by", flat(v.By))
		line("at", stamp(v.At))
		line("reason", flat(v.Reason))
		line("told", flat(v.Text))
		return b.String()
	}
	line("level", v.Level.String())
	line("policy", flat(v.Policy))
	line("expires", fmt.Sprintf("%s, in %s", v.Expires.Local().Format(time.DateTime), span(v.Expires.Sub(now))))
	always := "not possible: it is asked about each time"
	if v.Always {
		always = "would hold for " + flat(v.Fixed)
	}
	line("always", always)
	b.WriteString("\nwhy it is asked:\n")
	for _, why := range v.Why {
		fmt.Fprintf(&b, "- %s\n", flat(why))
	}
	would := "exactly this would run"
	if v.Schema != nil {
		would = "exactly this would be sent to its server, while it runs"
	}
	fmt.Fprintf(&b, "\n%s:\n%s\n", would, framed(v.Shown))
	fmt.Fprintf(&b, "\narguments:\n%s\n", framed(string(v.Arguments)))
	if v.Status == approvals.Open {
		fmt.Fprintf(&b, "\nanswer with\n%s", elsewhere(v))
	}
	return b.String()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// viewOf is an approval that was just asked for.
func viewOf(id session.ID, at time.Time, b approvalv1.Requested) approvals.View {
	return approvals.View{
		Approval: b.Approval, Session: id, Status: approvals.Open, Turn: b.Turn, Call: b.Call, Tool: b.Tool, Expires: b.Expires,
		Approvers: b.Approvers, Executor: b.Executor, Arguments: b.Arguments, Level: b.Level, Policy: b.Policy, Why: b.Why,
		Shown: b.Shown, Always: b.Grant != "" && b.Level < toolv1.L3, Fixed: b.Fixed, Since: at,
		Schema: b.Schema,
	}
}

// answerOf reads a word that answers a question.
func answerOf(word string) (d callv1.Decision, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "y", "yes":
		return callv1.AllowOnce, true
	case "a", "always":
		return callv1.AllowAlways, true
	case "n", "no":
		return callv1.Deny, true
	}
	return "", false
}

// choices are the words that answer a question.
func choices(v approvals.View) string {
	if v.Always {
		return "[y]es, [a]lways, [n]o"
	}
	return "[y]es, [n]o"
}

const (
	noAlways = "this cannot be allowed for always"
	unread   = "what was typed before the question could be read does not count"
)

// readTime is how long a question stands before answers to it count: what was typed before could mean another one, or be a
// message that was on its way.
const readTime = 300 * time.Millisecond
