package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// screen stands between the SDK and the network. It has to be there, and not around the SDK's connection, because the SDK
// recognises its own type of connection. What it returns as an error fails one request; what it lets through can end the session.
type screen struct {
	origin    string // configured; nothing is sent elsewhere
	sse       bool
	headers   http.Header
	authorize Authorizer
	tied      *leash
	next      *http.Transport
	hide      hide
	flood     *flood
	listened  atomic.Bool // the stream of notifications has been asked for
}

// CloseIdleConnections is found by http.Client.
func (s *screen) CloseIdleConnections() { s.next.CloseIdleConnections() }

func (s *screen) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // what is sent are copies of it
	}
	if originOf(req.URL) != s.origin {
		return nil, &addressError{"the server names another address for messages: " + line(req.URL.Scheme+"://"+req.URL.Host, maxName)}
	}
	if _, ours := req.Context().Value(method{}).(string); req.Method == http.MethodPost && !ours {
		defer s.flood.answered() // what goes out past our middleware are answers
	}
	if req.Method == http.MethodGet && !s.sse && req.Header.Get("Last-Event-ID") == "" {
		return s.listen(req)
	}
	resp, err := s.send(req)
	if err != nil {
		return nil, err
	}
	return s.look(req, resp)
}

// send sends a request with what we are known by, twice if the Authorizer says so. The answer's body ends with the connection.
func (s *screen) send(req *http.Request) (*http.Response, error) {
	ctx, release := s.tied.tie(req.Context())
	resp, err := s.ask(ctx, req)
	if err != nil {
		if ctx.Err() != nil && req.Context().Err() == nil {
			err = context.Cause(ctx)
		}
		release(nil)
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" && !s.sse {
		resp.Body = newSieve(resp.Body, s.flood) // the connection of SSE has it behind it: see wire
	}
	resp.Body = &body{ReadCloser: resp.Body, release: release}
	return resp, nil
}

func (s *screen) ask(ctx context.Context, req *http.Request) (*http.Response, error) {
	for again := false; ; again = true {
		out, err := s.dress(ctx, req)
		if err != nil {
			return nil, err
		}
		resp, err := s.next.RoundTrip(out)
		if p, ok := ctx.Value(passageKey{}).(*passage); ok {
			p.note(err)
		}
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, nil
		}
		drop(resp)
		refused := &RefusedError{
			Status:    resp.StatusCode,
			Challenge: line(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "), maxChallenge),
		}
		if s.authorize == nil || again {
			return nil, refused
		}
		retry, err := s.authorize.Refused(ctx, refused.Status, refused.Challenge)
		if err != nil {
			return nil, &authError{err}
		}
		if !retry {
			return nil, refused
		}
	}
}

// dress makes a copy of a request that is complete.
func (s *screen) dress(ctx context.Context, req *http.Request) (*http.Request, error) {
	out := req.Clone(ctx)
	if req.Body != nil {
		if req.GetBody == nil {
			return nil, errors.New("a request without a copy of its body")
		}
		sent, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = sent
	}
	for name, values := range s.headers {
		if out.Header.Get(name) == "" { // those of the protocol are the SDK's
			out.Header[name] = values
		}
	}
	if s.authorize != nil {
		value, err := s.authorize.Authorization(ctx)
		if err != nil {
			return nil, &authError{err}
		}
		if value != "" {
			out.Header.Set("Authorization", value)
		}
	}
	if name, _ := ctx.Value(method{}).(string); strings.HasPrefix(name, ours) {
		if err := rename(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rename takes our prefix off the method.
func rename(out *http.Request) error {
	if h := out.Header.Get("Mcp-Method"); h != "" {
		out.Header.Set("Mcp-Method", strings.TrimPrefix(h, ours))
	}
	if out.Body == nil {
		return nil // a GET that goes on with its answer
	}
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return err
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return err
	}
	if data, err = jsonrpc.EncodeMessage(plain(msg)); err != nil {
		return err
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return nil
}

// look decides about an answer whether the SDK may have it.
func (s *screen) look(req *http.Request, resp *http.Response) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	name, _ := req.Context().Value(method{}).(string)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400: // http.Client goes on
		return resp, nil
	case req.Method == http.MethodDelete:
		return resp, nil
	case s.sse && req.Method == http.MethodGet:
		return lookStream(resp, kind)
	case resp.StatusCode >= 400:
		return s.lookRefusal(req, resp, kind)
	case req.Method == http.MethodPost && name != "" && kind == "text/html":
		drop(resp)
		return nil, webPage()
	case req.Method == http.MethodPost && kind == "application/json":
		return whole(resp)
	}
	return resp, nil
}

func webPage() error {
	return &answerError{"the server answers with a web page (text/html), not MCP: is the url right?"}
}

// lookStream looks at the answer to the request that opens an SSE connection.
func lookStream(resp *http.Response, kind string) (*http.Response, error) {
	switch {
	case resp.StatusCode >= 400:
		drop(resp)
		return nil, &StatusError{resp.StatusCode}
	case kind == "text/html":
		drop(resp)
		return nil, webPage()
	}
	return resp, nil
}

// lookRefusal looks at an HTTP error. The SDK understands a JSON-RPC error in it, and that a session is gone; anything else would
// end the session.
func (s *screen) lookRefusal(req *http.Request, resp *http.Response, kind string) (*http.Response, error) {
	status := resp.StatusCode
	session := req.Header.Get("Mcp-Session-Id") != ""
	if status >= 500 || status == http.StatusTooManyRequests {
		drop(resp)
		return nil, &StatusError{status}
	}
	var said *RPCError
	if req.Method == http.MethodPost && kind == "application/json" {
		full, err := whole(resp)
		if err != nil {
			return nil, err
		}
		resp = full
		data, _ := io.ReadAll(resp.Body) // it is in memory
		resp.Body = io.NopCloser(bytes.NewReader(data))
		said = errorIn(data, s.hide)
	}
	// A session that the server does not know is a 404. Some explain that in a JSON-RPC error, which the SDK would hand to the
	// caller as one about the request; some answer 400, with that error alone.
	if session && (status == http.StatusNotFound || status == http.StatusBadRequest && said != nil && ofSession(said)) {
		if p, ok := req.Context().Value(passageKey{}).(*passage); ok {
			p.nobody.Add(1)
		}
		drop(resp)
		resp.StatusCode, resp.Status, resp.Body, resp.ContentLength = http.StatusNotFound, "404 Not Found", http.NoBody, 0
		return resp, nil
	}
	switch {
	case said != nil && said.Code == mcp.CodeUnsupportedProtocolVersion, req.Method == http.MethodGet:
		return resp, nil // the SDK knows what to do
	case said != nil:
		return nil, said // the SDK does not take one without an id
	}
	drop(resp)
	return nil, &StatusError{status}
}

// errorIn finds a JSON-RPC error.
func errorIn(data []byte, h hide) *RPCError {
	var m struct {
		Error *struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Error == nil {
		return nil //nolint:nilerr // then it is not one
	}
	return &RPCError{Code: m.Error.Code, Message: h.line(m.Error.Message, maxMessage)}
}

// ofSession recognises what the TypeScript SDK's servers say after a restart.
func ofSession(e *RPCError) bool {
	return e.Code == -32000 && strings.Contains(strings.ToLower(e.Message), "session")
}

// whole reads an answer before the SDK does, for which one that is too long or that ends early is the end of the session.
func whole(resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, &answerError{"the answer ends early: " + line(err.Error(), maxMessage)}
	}
	if len(data) > maxAnswer {
		return nil, &answerError{fmt.Sprintf("the answer is longer than %d MiB", maxAnswer>>20)}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	resp.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return resp, nil
}

// drop ends an answer that is not read: to use the connection again would mean to wait for a body that may not come.
func drop(resp *http.Response) { resp.Body.Close() }

// body lets go of a request's context when the answer has been read.
type body struct {
	io.ReadCloser
	release context.CancelCauseFunc
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.release(nil)
	return err
}
