package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/schemas/secret"
)

// ask is one call of a method.
type ask struct {
	method string
	params any
	limit  time.Duration // 0: callLimit
	most   int64         // bytes of the answer; 0: maxAnswer
	hide   []string      // what is secret in the parameters
}

// call makes one request and gives the answer's result. Its errors are *Error.
func (c *Client) call(ctx context.Context, a ask) (json.RawMessage, error) {
	var body bytes.Buffer
	if a.params != nil {
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false) // < as \u003c is six bytes of a request whose size is limited
		if err := enc.Encode(a.params); err != nil {
			return nil, &Error{Method: a.method, Class: Refused, Description: "the parameters cannot be written as JSON"}
		}
	}
	if a.limit == 0 {
		a.limit = callLimit
	}
	if a.most == 0 {
		a.most = maxAnswer
	}
	got, e := c.exchange(ctx, a, http.MethodPost, c.root+"/bot"+c.token+"/"+a.method, body.Bytes())
	if e != nil {
		return nil, e
	}
	result, e := c.resultOf(a, got)
	if e != nil {
		return nil, e
	}
	return result, nil
}

// do is a call whose result says nothing.
func (c *Client) do(ctx context.Context, method string, params any) error {
	_, err := c.call(ctx, ask{method: method, params: params})
	return err
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	over   bool   // the body is larger than was allowed
	cut    string // why the rest of the body did not come; "" when it did
	ended  error  // why the caller's context has ended, if it has
}

// exchange makes one request. An error is one without a status.
func (c *Client) exchange(ctx context.Context, a ask, verb, target string, body []byte) (answer, *Error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	// Something of the request may be on the wire. The transport asks for another connection only when nothing was written
	// to the one before, so each begins anew.
	var touched atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:          func(string) { touched.Store(false) },
		WroteHeaderField: func(string, []string) { touched.Store(true) },
		WroteRequest:     func(httptrace.WroteRequestInfo) { touched.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, verb, target, bytes.NewReader(body))
	if err != nil {
		return answer{}, &Error{Method: a.method, Class: Refused, Description: "the URL cannot be called"}
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", jsonMimeType)
	}
	req.Header.Set("User-Agent", "jetclaw")
	res, err := c.transport.RoundTrip(req) // not an http.Client: that follows redirects, and its errors hold the URL
	if err != nil {
		e := &Error{Method: a.method, Class: NotSent, Description: "nothing was sent: ", cause: caller.Err()}
		if touched.Load() {
			e.Class, e.Description = Unknown, "no answer to what was sent: "
		}
		e.Description = clean(e.Description+describe(err), c.Redact)
		return answer{}, e
	}
	defer func() { _ = res.Body.Close() }() // read as far as it is wanted: nothing that closing says changes it
	got := answer{status: res.StatusCode, header: res.Header}
	got.body, err = io.ReadAll(io.LimitReader(res.Body, a.most+1))
	got.over = int64(len(got.body)) > a.most
	if err != nil {
		got.cut, got.ended = describe(err), caller.Err()
	}
	return got, nil
}

// resultOf reads an answer to a method.
func (c *Client) resultOf(a ask, got answer) (json.RawMessage, *Error) {
	if got.over || got.cut != "" {
		return nil, c.foreign(a, got)
	}
	env, ok := envelopeOf(got.body)
	switch {
	case ok && env.ok && got.status/100 == 2:
		return env.result, nil
	case ok && !env.ok:
		return nil, c.refusal(a, got, env)
	default:
		return nil, c.foreign(a, got)
	}
}

// refusal is a no in the Bot API's own words.
func (c *Client) refusal(a ask, got answer, env envelope) *Error {
	e := &Error{Method: a.method, Code: env.code, MigrateTo: env.migrateTo}
	if e.Code < 400 || e.Code > 599 {
		e.Code = got.status
	}
	switch {
	case e.Code < 400 || e.Code > 599:
		e.Class = Refused // "ok":false is a no, whatever the status
	case e.Code >= 500:
		e.Class = Later
	default:
		e.Class = classOf(e.Code)
	}
	if e.Description = clean(env.description, c.redactor(a)); e.Description == "" {
		e.Description = fmt.Sprintf("HTTP %d: refused without a reason", got.status)
	}
	e.RetryAfter = retryAfter(e.Class, env.retryAfter, got.header)
	return e
}

// foreign is an answer that is not the Bot API's, or not the whole of it: only the status can say something.
func (c *Client) foreign(a ask, got answer) *Error {
	e := &Error{Method: a.method, Class: classOf(got.status), Code: got.status, cause: got.ended}
	e.RetryAfter = retryAfter(e.Class, 0, got.header)
	e.foreign = !got.over && got.cut == ""
	e.Description = clean(c.whatAnswered(a, got), c.redactor(a))
	return e
}

// redactor takes out the token, and what else is secret in this call.
func (c *Client) redactor(a ask) func(string) string {
	if len(a.hide) == 0 {
		return c.Redact
	}
	return secret.Compile(slices.Concat(a.hide, c.secrets)).Redact
}
