package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	fold "github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// writeMarkdown writes a conversation for people. What somebody has said stands there as it is: it may be Markdown itself, as
// what models write is, and so a heading in it looks like one of this file.
func writeMarkdown(out io.Writer, id session.ID, events []envelope.Event, hole *bus.HoleError) error {
	t := transcriptOf(events)
	fmt.Fprintf(out, "# %s\n\n", flat(cmp.Or(t.state.Title, string(id))))
	fmt.Fprintf(out, "Session `%s`", id)
	if s := t.state; s.Events > 0 {
		fmt.Fprintf(out, ", %s to %s, %s and %s", moments(s.Created), moments(s.Updated), countedBig(s.Messages, "message"),
			countedBig(s.Answers, "answer"))
	}
	fmt.Fprint(out, ".\n")
	if hole != nil {
		fmt.Fprintf(out, "\n**%s.**\n", holeText(hole))
	}
	at := map[uint64]fold.Message{}
	for _, m := range t.messages {
		at[m.Cursor] = m
	}
	listing := false // the last line was of a tool
	for _, ev := range events {
		if line := callLine(ev.Body); line != "" {
			if !listing {
				fmt.Fprintln(out)
			}
			listing = true
			fmt.Fprintf(out, "- %s\n", line)
		}
		m, ok := at[ev.Cursor]
		if !ok {
			continue
		}
		listing = false
		if err := markdownMessage(out, m); err != nil {
			return err
		}
	}
	return nil
}

func moments(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

func markdownMessage(out io.Writer, m fold.Message) error {
	edited := ""
	if m.Edited {
		edited = " (edited)"
	}
	_, err := fmt.Fprintf(out, "\n## %s, %s%s\n", codeless(whoSays(m)), moments(m.Time), edited)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		fmt.Fprintf(out, "\n%s\n", codeless(fileLine(f)))
	}
	if text := strings.TrimRight(forTerminal(m.Text), "\n"); text != "" {
		_, err = fmt.Fprintf(out, "\n%s\n", text)
	}
	return err
}

// codeless is a short text that stands for itself in Markdown.
func codeless(text string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "\\<", "#", "\\#").Replace(text)
}

// callLine is a tool call in a line, "" for what is none.
func callLine(body envelope.Body) string {
	switch b := body.(type) {
	case callv1.Dispatched:
		return codeless(fmt.Sprintf("calls %s %s", b.Tool, oneLine(plainJSON(b.Arguments))))
	case callv1.Awaiting:
		return codeless(fmt.Sprintf("asks for approval of %s %s", b.Tool, oneLine(plainJSON(b.Arguments))))
	case callv1.Denied:
		return codeless(fmt.Sprintf("call %s was denied: %s", b.Call, oneLine(b.Reason)))
	case callv1.Asked:
		return codeless(fmt.Sprintf("call %s asks: %s", b.Call, oneLine(b.Message)))
	case callv1.Completed:
		return codeless(fmt.Sprintf("call %s: %s: %s", b.Call, b.Outcome, oneLine(b.Content)))
	}
	return ""
}
