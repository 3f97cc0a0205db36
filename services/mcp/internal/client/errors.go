package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrClosed says that the connection is gone, or that the server has forgotten the session: connect anew.
var ErrClosed = errors.New("the connection to the server is closed")

// TimeoutError says that the server did not answer in time.
type TimeoutError struct {
	What  string // the method, or "connecting"
	After time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("%s: no answer within %s", e.What, e.After) }

// UnsentError says that a call has reached nobody who could have done it: nobody listens at the server's address, or the server
// has forgotten the session.
type UnsentError struct{ error }

func (e *UnsentError) Unwrap() error { return e.error }

// RefusedError says that an HTTP server asks who we are, or will not have us.
type RefusedError struct {
	Status    int    // 401 or 403
	Challenge string // its WWW-Authenticate
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refuses: %d %s", e.Status, http.StatusText(e.Status))
}

// StatusError says that an HTTP server answered with a status and nothing of the protocol.
type StatusError struct{ Status int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
}

// RPCError is an error that the server answered. The message is the server's: untrusted.
type RPCError struct {
	Code    int64
	Message string
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// answerError says what is wrong with an HTTP answer, in words of our own.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// addressError says that a server wants to be talked to elsewhere.
type addressError struct{ text string }

func (e *addressError) Error() string { return e.text }

// reachError is why there is no HTTP answer.
type reachError struct{ text string }

func (e *reachError) Error() string { return "the server cannot be reached: " + e.text }

// authError is what the Authorizer has said.
type authError struct{ error }

func (e *authError) Unwrap() error { return e.error }

// brokenError is why reading from a connection has ended.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// endedError says that the caller did not want to wait any longer.
type endedError struct {
	what  string
	cause error
}

func (e *endedError) Error() string { return e.what + ": " + e.cause.Error() }
func (e *endedError) Unwrap() error { return e.cause }

// Codes that say that a request was wrong, not that the server is.
const (
	codeResourceNotFound = -32002
	codeAskURL           = -32042 // it wants the person to open a page, which is not offered
)

// Broken says whether err is a failure of the server, such as count towards a pause: no answer in time, a connection that ends, a
// status of 500, nonsense. It is none if the server has answered that a request is wrong, if it refuses us (somebody has to log
// in) or if the caller has given up.
func Broken(err error) bool {
	var (
		ended   *endedError
		refused *RefusedError
		auth    *authError
		rpc     *RPCError
	)
	switch {
	case err == nil, errors.As(err, &ended), errors.As(err, &refused), errors.As(err, &auth):
		return false
	case errors.As(err, &rpc):
		return brokenCode(rpc.Code)
	}
	return true
}

func brokenCode(code int64) bool {
	switch code {
	case jsonrpc.CodeInternalError, jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest:
		return true
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, codeResourceNotFound, codeAskURL:
		return false
	}
	return code <= -32000 && code > -32100 // the protocol's and implementations' own; others are an application's
}

// explain makes what the SDK has returned an error of this package. ctx is the caller's, run the one that the request ran under.
func (s *Session) explain(ctx, run context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return &endedError{what, context.Cause(ctx)}
	}
	if run.Err() != nil {
		cause := context.Cause(run)
		if late, ok := errors.AsType[*TimeoutError](cause); ok {
			return late
		}
		if errors.Is(cause, ErrClosed) {
			return fmt.Errorf("%s: %w", what, s.gone())
		}
	}
	return fmt.Errorf("%s: %w", what, translate(err, s.hide))
}

// hide takes out of a text what must not be told.
type hide func(text string) string

// line is line for a text that may hold such.
func (h hide) line(text string, limit int) string {
	if len(text) > 4*limit {
		text = text[:4*limit] // what the cut goes through is not shown
	}
	return line(h(text), limit)
}

func (o Options) hide(text string) string {
	if o.Redact == nil {
		return text
	}
	return o.Redact(text)
}

// hide takes the session's id out, too.
func (s *Session) hide(text string) string {
	text = s.o.hide(text)
	if s.mcp != nil && s.mcp.ID() != "" {
		text = strings.ReplaceAll(text, s.mcp.ID(), "[session]")
	}
	return text
}

// gone is ErrClosed with the reason, if one is known.
func (s *Session) gone() error {
	if err := s.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// translate finds in the SDK's error what it is about.
func translate(err error, h hide) error {
	for _, find := range []func(error) error{
		as[*RefusedError], as[*authError], as[*StatusError], as[*answerError], as[*addressError], as[*TimeoutError], as[*reachError], as[*RPCError],
	} {
		if found := find(err); found != nil {
			return found
		}
	}
	if broken, ok := errors.AsType[*brokenError](err); ok && !isEnd(broken) {
		return fmt.Errorf("%w: %s", ErrClosed, h.line(broken.error.Error(), maxMessage))
	}
	if reach, ok := errors.AsType[*url.Error](err); ok && !errors.Is(err, ErrClosed) {
		return &reachError{h.line(reach.Err.Error(), maxMessage)}
	}
	if isEnd(err) {
		return ErrClosed
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && !ofSDK(rpc) {
		return &RPCError{Code: rpc.Code, Message: h.line(rpc.Message, maxMessage)}
	}
	return errors.New(h.line(err.Error(), maxMessage))
}

func as[E error](err error) error {
	if found, ok := errors.AsType[E](err); ok {
		return found
	}
	return nil
}

func isEnd(err error) bool {
	for _, end := range []error{ErrClosed, mcp.ErrConnectionClosed, mcp.ErrSessionMissing, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// ofSDK says whether an error with a code is the SDK's own: it marks so what did not get as far as the server.
func ofSDK(e *jsonrpc.Error) bool { return e.Code == -32005 && e.Message == "rejected by transport" }

const maxMessage = 2 << 10

// line makes a text of a server one line of at most limit bytes.
func line(text string, limit int) string {
	if len(text) > 4*limit {
		text = text[:4*limit] // what follows would not be shown
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "�"), func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0
	}), " ")
	return cut(text, limit)
}

// cut shortens a text at the boundary of a rune.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
