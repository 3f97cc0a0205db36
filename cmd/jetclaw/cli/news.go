package cli

import (
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// answersOf are the messages and commands whose outcome a body is.
func answersOf(body envelope.Body) []string {
	switch b := body.(type) {
	case turnv1.Completed:
		return b.Answers
	case turnv1.Failed:
		return b.Answers
	case turnv1.Cancelled:
		if b.Reason == "" || b.Reason == turnv1.Stopped { // else By is the message that took their place
			return append(one(b.By), b.Answers...)
		}
		return b.Answers
	case turnv1.SessionReset:
		return one(b.By)
	case noticev1.Posted:
		return b.Answers
	case turnv1.SessionConfigured:
		return one(b.By)
	case turnv1.SessionCompacted:
		return one(b.By)
	case turnv1.CompactionFailed:
		return one(b.By)
	case approvalv1.Decided:
		return b.Answers // the other answers get a notice
	}
	return nil
}

func one(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// isAsked says whether an outcome is waited for. A stop shows by what it ends; in old journals one that found nothing was never
// answered.
func isAsked(body envelope.Body) bool {
	switch b := body.(type) {
	case messagev1.Received, messagev1.Decision:
		return true
	case messagev1.Control:
		return b.Verb != messagev1.Stop
	}
	return false
}

// isNews says whether a conversation shows it, and has then seen all up to it. What approvals come to is shown as well, but
// the news is what their turn comes to: a question that is still open is asked again.
func isNews(body envelope.Body) bool {
	switch b := body.(type) {
	case turnv1.Completed, turnv1.Failed, turnv1.Cancelled, turnv1.SessionReset, turnv1.SessionConfigured, noticev1.Posted:
		return true
	case turnv1.SessionCompacted:
		return b.By != "" // else it came by itself, and changes nothing that a person sees
	case turnv1.CompactionFailed:
		return b.By != ""
	}
	return false
}
