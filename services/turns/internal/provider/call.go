package provider

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

const (
	maxRepeats = 2
	// drain is how long the end of a body is waited for, so that its connection can be used again.
	drain = 50 * time.Millisecond
)

// Call is one model call on its way. It stands where an API client expects its HTTP client.
type Call struct {
	Body  *Events // of the answer; nil until there is one
	link  *Link
	once  bool // the request is not repeated
	dress func([]byte) []byte
}

// Call begins one. once keeps it from being repeated. dress rewrites each event of the answer for the API client that reads
// it, see Events; nil for one that uses Events.Next.
func (l *Link) Call(once bool, dress func([]byte) []byte) *Call {
	return &Call{link: l, once: once, dress: dress}
}

// Do sends the request, again where that may help, and hands on the body of a success.
func (c *Call) Do(req *http.Request) (*http.Response, error) {
	// Not sent: it tells net/http that the request may go out again when a kept connection turns out to be closed.
	// Servers close theirs after as little as 5 s.
	req.Header["Idempotency-Key"] = nil
	delays := backoff.NewExponentialBackOff(backoff.WithInitialInterval(c.link.cfg.Delay), backoff.WithMaxElapsedTime(0))
	for try := 0; ; try++ {
		if try > 0 {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			req.Body = body
		}
		resp, err := c.link.http.Do(req)
		if err == nil && resp.StatusCode == http.StatusOK {
			c.Body = newEvents(resp.Body, c.link.cfg.MaxAnswer, c.dress)
			resp.Body = c.Body
			return resp, nil
		}
		var after time.Duration
		passing := unsent(err)
		if err == nil {
			s := c.link.status(resp)
			err, after, passing = s, s.after, s.class() == model.Passing
		}
		if !passing || c.once || try == maxRepeats || !pause(req.Context(), max(delays.NextBackOff(), after)) {
			return nil, err
		}
	}
}

// Drain reads what is left of a body that should be at its end, for the connection's sake. cancel ends the request.
func (c *Call) Drain(cancel context.CancelFunc) {
	if c.Body == nil {
		return
	}
	defer time.AfterFunc(drain, cancel).Stop()
	_, _ = io.CopyN(io.Discard, c.Body.body, 4<<10)
}

// unsent says whether the server cannot have seen anything of the request.
func unsent(err error) bool {
	var name *net.DNSError
	var op *net.OpError
	return errors.As(err, &name) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// pause waits, unless the context would end before; then it does not wait at all.
func pause(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
