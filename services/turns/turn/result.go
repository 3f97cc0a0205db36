package turn

import (
	"fmt"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// shown is a result as the model is shown it.
func shown(b callv1.Completed) string {
	switch b.Outcome {
	case callv1.OK:
		return b.Content
	case callv1.Error:
		return "error: " + b.Content
	case callv1.Unknown:
		return "outcome unknown, the call may have been carried out: " + b.Content
	}
	return fmt.Sprintf("%s: %s", b.Outcome, b.Content)
}

func cut(text string) string {
	if len(text) <= maxResult {
		return text
	}
	n := maxResult
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[cut: %d more bytes]", text[:n], len(text)-n)
}
