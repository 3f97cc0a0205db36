package approval

import (
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/form"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// fill is the answer to a question in the middle of a call. The gate has nothing to say about it: the call runs, and an answer is
// no call. It has to fit, else the question stays open.
func (a Approval) fill(id session.ID, x Answer, now time.Time, r Rules) Ruling {
	if x.Decision != callv1.AllowOnce {
		return a.noAlways()
	}
	f, err := form.Parse(a.Form.Schema)
	if err != nil {
		return wrong("Approval %s cannot be answered but by a denial: %s.", a.ID, oneLine(err.Error()))
	}
	sent, shown := a.Request(), a.Parked.Shown
	if len(x.Arguments) > 0 {
		content, err := f.Complete(x.Arguments)
		if err != nil {
			return wrong("The answer cannot be taken: %s.", oneLine(err.Error()))
		}
		sent.Arguments, sent.Digest, shown = content, canonical.Digest(content), f.Show(content)
	}
	if err := f.Check(sent.Arguments); err != nil {
		return wrong("This does not answer approval %s: %s. %s", a.ID, oneLine(err.Error()), a.howToFill())
	}
	return a.decide(id, x, now, r, sent, shown, "")
}

func (a Approval) howToFill() string {
	return fmt.Sprintf("Fill it in with: jetclaw approvals approve %s --edit FILE (a JSON object).", a.ID)
}

// form is the whole question in the middle of a call, and the end of it that says how to answer.
func (a Approval) form(b approvalv1.Requested) (text, ways string) {
	var t, w strings.Builder
	fmt.Fprintf(&t, "Approval %s: a question from %s, while it runs.\n", a.ID, oneLine(b.Tool))
	for _, why := range b.Why {
		fmt.Fprintf(&t, "- %s\n", oneLine(why))
	}
	fmt.Fprintf(&t, "Exactly this would be sent:\n%s\n", quoted(b.Shown))
	fmt.Fprintf(&t, "It is open until %s; then nothing is sent.", clock(b.Expires))
	f, err := form.Parse(a.Form.Schema)
	switch {
	case err != nil:
		t.WriteString(" It cannot be answered: its form cannot be read.")
	case f.Check(b.Arguments) != nil:
		fmt.Fprintf(&t, "\nAs it is it cannot be sent: %s. %s", oneLine(f.Check(b.Arguments).Error()), a.howToFill())
	default:
		fmt.Fprintf(&w, "\n/approve %s sends it.", a.ID)
		if len(f.Fields) > 0 {
			fmt.Fprintf(&w, " With other values: jetclaw approvals approve %s --edit FILE", a.ID)
		}
	}
	fmt.Fprintf(&w, "\n/deny %s sends nothing.", a.ID)
	return t.String() + w.String(), w.String()
}

// nothing says what has not happened.
func nothing(form bool) string {
	if form {
		return "Nothing was sent."
	}
	return "It did not run."
}
