package cli

import (
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func turnSummary(body turnv1.Event) string {
	switch b := body.(type) {
	case turnv1.Started:
		return claimSummary(b.Claim)
	case turnv1.Continued:
		return claimSummary(b.Claim)
	case turnv1.Resumed:
		return claimSummary(b.Claim) + ", taken over from " + b.From
	case turnv1.Stepped:
		names := make([]string, len(b.Calls))
		for i, c := range b.Calls {
			names[i] = c.Tool
		}
		return "calls " + oneLine(strings.Join(names, ", "))
	case turnv1.Completed:
		return b.Model + ": " + oneLine(b.Text)
	case turnv1.Failed:
		return string(b.Cause) + ": " + oneLine(b.Text)
	case turnv1.Overflowed:
		return b.Model + ": " + oneLine(b.Detail)
	case turnv1.Cancelled:
		return cancelledSummary(b)
	case turnv1.SessionConfigured, turnv1.CompactionStarted, turnv1.CompactionFailed, turnv1.SessionCompacted, turnv1.SessionReset,
		turnv1.SessionDeleted, turnv1.Forked:
		return sessionSummary(body)
	}
	return ""
}

func cancelledSummary(b turnv1.Cancelled) string {
	reason := b.Reason
	if reason == "" { // of a time when there was no other
		reason = turnv1.Stopped
	}
	s := fmt.Sprintf("%s, %s", reason, counted(len(b.Answers), "message"))
	if b.Text != "" {
		s += ": " + oneLine(b.Text)
	}
	return s
}

// sessionSummary is about events of a session's memory and settings.
func sessionSummary(body envelope.Body) string {
	switch b := body.(type) {
	case turnv1.SessionConfigured:
		if b.Value == "" {
			return fmt.Sprintf("%s: the agent's own", b.Setting)
		}
		return fmt.Sprintf("%s: %s", b.Setting, oneLine(b.Value))
	case turnv1.CompactionStarted:
		return fmt.Sprintf("through %s, attempt %d, by %s", b.Through, b.Attempt, b.Worker)
	case turnv1.CompactionFailed:
		return fmt.Sprintf("%s: %s", b.Cause, oneLine(b.Text))
	case turnv1.SessionCompacted:
		return fmt.Sprintf("%s in one: %s", counted(b.Turns, "turn"), oneLine(b.Summary))
	case turnv1.Forked:
		s := fmt.Sprintf("from %s at %d, by %s", b.From, b.At, oneLine(b.By))
		if b.Edited != nil {
			s += fmt.Sprintf(", event %d edited", b.Edited.Cursor)
		}
		if b.Model != "" {
			s += ", with " + oneLine(b.Model)
		}
		return s
	case turnv1.SessionDeleted:
		s := "by " + b.By
		if b.Events > 0 {
			s += ", " + counted(b.Events, "event")
		}
		if b.Archive != "" {
			s += ", kept in " + b.Archive
		}
		return s
	}
	return ""
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func claimSummary(c turnv1.Claim) string {
	return fmt.Sprintf("round %d, attempt %d, by %s", c.Round, c.Attempt, c.Worker)
}
