package turn

import (
	"fmt"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// readResult is the tool that reads the rest of a result. An executor offers it.
const readResult = "read_result"

// completed ends a call with what its executor says: first what became of it, in jetclaw's words, then the text of the
// tool. A long text is cut, and a note says how to read on.
func completed(ev envelope.Event, b callv1.Completed) func(*Call) {
	return func(c *Call) {
		lead, failed := outcome(b.Outcome)
		text := head(b.Content, maxResult)
		c.Result, c.Lead, c.Failed, c.Cursor = lead+text, len(lead), failed, ev.Cursor
		switch {
		case len(text) == len(b.Content):
		case c.Cursor == 0:
			c.note(fmt.Sprintf("[cut: %d of %d bytes shown; the rest is in another conversation]", len(text), len(b.Content)))
		default:
			c.note(fmt.Sprintf("[cut: %d of %d bytes shown; call %s for the rest]", len(text), len(b.Content), c.ReadOn(len(text))))
		}
		if b.Cut > 0 {
			c.note(fmt.Sprintf("[the tool said %s more, of which nothing was kept]", counted(int(b.Cut), "byte")))
		}
	}
}

// outcome is what stands before the text of a tool, and whether the call has failed. A cancelled one has not: nobody let it
// end.
func outcome(o callv1.Outcome) (lead string, failed bool) {
	switch o {
	case callv1.OK:
		return "", false
	case callv1.Error:
		return "error: ", true
	case callv1.Unknown:
		return "outcome unknown, the call may have been carried out: ", true
	case callv1.TimedOut:
		return "timed out: it was ended at its time limit, what it had done by then is done: ", true
	case callv1.Cancelled:
		return "cancelled: it was ended before it was finished, what it had done by then is done: ", false
	case callv1.Refused:
		return "refused, it was not carried out: ", true
	}
	return string(o) + ": ", false
}

func denied(b callv1.Denied) func(*Call) {
	return func(c *Call) {
		c.Own, c.Failed, c.Result = true, true, "denied: "+cut(b.Reason)
		if b.Reason == "" {
			c.Result = "denied"
		}
	}
}

// note adds a line of jetclaw's own behind the result.
func (c *Call) note(line string) {
	if c.Note != "" {
		c.Note += "\n"
	}
	c.Note += line
}

// ReadOn is the call that reads the text of a result from some byte on.
func (c Call) ReadOn(offset int) string {
	return fmt.Sprintf(`%s {"result":"%d","offset":%d}`, readResult, c.Cursor, offset)
}

// cut is for texts of which no event has the rest.
func cut(text string) string {
	shown := head(text, maxResult)
	if len(shown) == len(text) {
		return text
	}
	return fmt.Sprintf("%s\n[cut: %d more bytes]", shown, len(text)-len(shown))
}

// head is at most limit bytes of text, whole characters.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
