package providertest

import (
	"io"
	"net/http"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Suite says how an adapter's protocol looks. Its tests play the rest.
type Suite struct {
	New New
	// Good are bodies of whole streams, with their answers: at least "text" and "calls".
	Good map[string]Good
	// Start, Text(piece) and End are a stream in parts.
	Start, End string
	Text       func(piece string) string
	// Overloaded and TooLong are events that say that the provider gave up, and why.
	Overloaded, TooLong string
	// ErrorBody is the body of an error of no known kind.
	ErrorBody func(message string) string
}

// Good is a whole stream and what it says.
type Good struct {
	Body string
	Want model.Answer
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	t.Run("a cut stream", s.cut)
	t.Run("a stream in two pieces", s.split)
	t.Run("a rune in two pieces", s.runes)
	t.Run("status", s.status)
	t.Run("a repeat that helps", s.repeat)
	t.Run("no repeat after the first byte", s.noRepeat)
	t.Run("nobody there", s.nobody)
	t.Run("a redirect is not followed", s.redirect)
	t.Run("retry after", s.retryAfter)
	t.Run("a hang", s.hang)
	t.Run("an endless stream", s.endless)
	t.Run("too large", s.large)
	t.Run("no stream", s.noStream)
	t.Run("errors within a stream", s.inStream)
	t.Run("connections are kept", s.kept)
	t.Run("configuration", s.config)
}

// body is a handler that sends a stream in one piece.
func body(b string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, b) }
}

func send(w http.ResponseWriter, b string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, b)
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
