package turn

import (
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// aPerson is what a call waits for until its approval has an id.
const aPerson = "a person"

// awaiting folds what open calls wait for. It decides nothing: the result is what goes on with the turn.
func (s State) awaiting(body envelope.Body) State {
	var turn, call, waits string
	switch b := body.(type) {
	case callv1.Awaiting:
		turn, call, waits = b.Turn, b.Call, aPerson
	case callv1.Dispatched:
		return s.openCall(b.Turn, b.Call, func(_ *Turn, c *Call) {
			c.Waits = ""
			c.edited(b)
		})
	case approvalv1.Requested:
		turn, call, waits = b.Turn, b.Call, b.Approval
	case approvalv1.Decided:
		turn, call = b.Turn, b.Call
	case approvalv1.Expired:
		turn, call = b.Turn, b.Call
	case approvalv1.Cancelled:
		turn, call = b.Turn, b.Call
	case approvalv1.Voided:
		turn, call = b.Turn, b.Call
	}
	return s.openCall(turn, call, func(_ *Turn, c *Call) { c.Waits = waits })
}

// maxEdited bounds how much of arguments that a person has changed the model is told, in bytes.
const maxEdited = 2 << 10

// edited tells the model that a person has changed the arguments: its own are not what has run.
func (c *Call) edited(b callv1.Dispatched) {
	if b.Approval == nil {
		return
	}
	was, err := canonical.JSON([]byte(c.Arguments))
	if err != nil || canonical.Digest(was) == b.Digest {
		return
	}
	runs := string(b.Arguments)
	if len(runs) > maxEdited {
		runs = strings.ToValidUTF8(runs[:maxEdited], "") + "…"
	}
	c.note("(the person has changed the arguments before allowing it; what ran is " + runs + ")")
}

// parked says whether calls are open, and all of them wait for a person.
func (t *Turn) parked() bool {
	open := false
	for _, c := range t.calls() {
		if !c.Done && c.Waits == "" {
			return false
		}
		open = open || !c.Done
	}
	return open
}

// named is how many tools a status names.
const named = 5

// waitsFor says what the open calls of the turn wait for.
func (t *Turn) waitsFor() string {
	var tools, people []string
	for _, c := range t.calls() {
		switch {
		case c.Done:
		case c.Waits == aPerson:
			people = append(people, c.Tool)
		case c.Waits != "":
			people = append(people, fmt.Sprintf("approval %s for %s", c.Waits, c.Tool))
		default:
			tools = append(tools, c.Tool)
		}
	}
	var parts []string
	switch len(tools) {
	case 0:
	case 1:
		parts = append(parts, "the tool "+tools[0])
	default:
		parts = append(parts, "the tools "+listed(tools))
	}
	if len(people) > 0 {
		parts = append(parts, "a person's decision: "+listed(people))
	}
	return strings.Join(parts, " and for ")
}

func listed(names []string) string {
	if more := len(names) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), more)
	}
	return strings.Join(names, ", ")
}
