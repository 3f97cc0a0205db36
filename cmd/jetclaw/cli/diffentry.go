package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// entry is one thing that was said or done in a session.
type entry struct {
	Session session.ID `json:"session"` // that it happened in: of the past of a fork, the one that was forked
	Cursor  uint64     `json:"cursor"`
	Time    time.Time  `json:"time"`
	Kind    string     `json:"kind"`
	Summary string     `json:"summary"`
	content []string   // what makes it the same as another
}

func entriesOf(history []envelope.Event) []entry {
	var list []entry
	for _, ev := range history {
		if content, counts := contentOf(ev.Body); counts {
			list = append(list, entry{
				Session: ev.Session, Cursor: ev.Cursor, Time: ev.Time, Kind: ev.Kind(), Summary: summary(ev.Body), content: content,
			})
		}
	}
	return list
}

func (e entry) same(other entry) bool {
	if e.Kind != other.Kind || len(e.content) != len(other.content) {
		return false
	}
	for i, text := range e.content {
		if text != other.content[i] {
			return false
		}
	}
	return true
}

func (e entry) line() string {
	return strings.TrimRight(fmt.Sprintf("%6d  %-18s %s", e.Cursor, flat(e.Kind), flat(e.Summary)), " ")
}

// contentOf is what an event says, without ids and times; counts is false for those that only say how it came about.
func contentOf(body envelope.Body) (content []string, counts bool) {
	switch b := body.(type) {
	case messagev1.Received:
		return messageContent(b), true
	case messagev1.Edited:
		return []string{b.Text}, true
	case messagev1.Control:
		return []string{string(b.Verb), b.Argument}, true
	case turnv1.Stepped:
		return stepContent(b), true
	case turnv1.Completed:
		return []string{b.Text}, true
	case turnv1.Failed:
		return []string{string(b.Cause), b.Text}, true
	case turnv1.Cancelled:
		return []string{string(b.Reason), b.Text}, true
	case callv1.Completed:
		return []string{string(b.Outcome), b.Content}, true
	case callv1.Denied:
		return []string{b.Reason}, true
	case turnv1.SessionCompacted:
		return []string{b.Summary}, true
	case turnv1.SessionConfigured:
		return []string{string(b.Setting), b.Value}, true
	case turnv1.SessionReset:
		return nil, true
	}
	return nil, false
}

func messageContent(b messagev1.Received) []string {
	content := []string{b.Text, b.Forwarded}
	if b.Quote != nil {
		content = append(content, "quote", b.Quote.Text)
	}
	for _, f := range b.Files {
		content = append(content, "file", f.Name, f.Digest)
	}
	return content
}

func stepContent(b turnv1.Stepped) []string {
	content := []string{b.Text}
	for _, c := range b.Calls {
		arguments, err := canonical.JSON(c.Arguments)
		if err != nil {
			arguments = c.Arguments
		}
		content = append(content, c.Tool, string(arguments), c.Refusal)
	}
	return content
}
