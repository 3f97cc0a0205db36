package cli

import (
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// answersOf are the messages whose outcome a body is.
func answersOf(body envelope.Body) []string {
	switch b := body.(type) {
	case turnv1.Completed:
		return b.Answers
	case turnv1.Failed:
		return b.Answers
	case turnv1.Cancelled:
		return b.Answers
	}
	return nil
}

// isNews says whether a conversation shows it.
func isNews(body envelope.Body) bool {
	switch body.(type) {
	case turnv1.Completed, turnv1.Failed, turnv1.Cancelled, turnv1.SessionReset, noticev1.Posted:
		return true
	}
	return false
}
