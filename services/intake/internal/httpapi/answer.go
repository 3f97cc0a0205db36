package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// problem is the body of every answer that is not a success.
type problem struct {
	Error     string     `json:"error"`
	Kind      fault.Kind `json:"kind"`
	MessageID string     `json:"message_id,omitempty"` // of a refused message that was recorded
}

// statusOf maps a kind of trouble to HTTP.
func statusOf(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Denied:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Full:
		return http.StatusInsufficientStorage
	case fault.Busy:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// problemOf is what a client is told. The text of an error that is no fault may hold anything: it stays in the log.
func (s *Server) problemOf(r *http.Request, err error) problem {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind != fault.Internal:
		return problem{Error: f.Text, Kind: f.Kind}
	case errors.Is(err, context.DeadlineExceeded):
		return problem{Error: "no answer in time", Kind: fault.Timeout}
	case errors.Is(err, context.Canceled): // the client went away, or the server stops
		return problem{Error: "the request was given up", Kind: fault.Unavailable}
	}
	s.log.Error("http request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	return problem{Error: "internal error: the log of the daemon has it", Kind: fault.Internal}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problemOf(r, err)
	s.failWith(w, statusOf(p.Kind), p)
}

func (s *Server) failWith(w http.ResponseWriter, status int, p problem) {
	if p.Kind == fault.Busy || p.Kind == fault.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	s.answer(w, status, p)
}

func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // the shapes of this package always encode
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error","kind":"internal"}`)
		s.log.Error("encode answer", "error", err)
	}
	b = append(b, '\n')
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client is gone: nobody is left to tell
}

// Header values that every answer shares; net/http does not write to them.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)
