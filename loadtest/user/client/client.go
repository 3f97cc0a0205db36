// Package client speaks the HTTP channel of jetclaw as a program of a user would: over one pool of kept connections,
// with a bearer token, an idempotency key for each message, and retries that are the caller's business.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Client is safe for many goroutines.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New makes a client that keeps up to conns connections open.
func New(base, token string, conns int) *Client {
	return &Client{base: base, token: token, http: &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConns:        conns,
		MaxIdleConnsPerHost: conns,
		IdleConnTimeout:     time.Minute,
	}}}
}

// Close gives the idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Message is what is sent.
type Message struct {
	Session string `json:"session"`
	Text    string `json:"text"`
	Key     string `json:"idempotency_key"`
}

// Accepted is the answer to a message that is now safe in the journal.
type Accepted struct {
	ID      string `json:"message_id"`
	Session string `json:"session"`
	Cursor  uint64 `json:"cursor"`
}

// Reply is what became of a message.
type Reply struct {
	Status string `json:"status"` // completed, failed, refused, cancelled, awaiting_approval, pending
	Text   string `json:"text"`
}

// Final tells whether the reply can no longer change.
func (r Reply) Final() bool {
	switch r.Status {
	case "completed", "failed", "refused", "cancelled":
		return true
	}
	return false
}

// StatusError is an answer that is not the expected one.
type StatusError struct {
	Status int
	Body   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Status, e.Body) }

// Send posts a message; nil error means 202.
func (c *Client) Send(ctx context.Context, m Message) (Accepted, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return Accepted{}, err
	}
	var a Accepted
	err = c.do(ctx, http.MethodPost, "/v1/messages", b, http.StatusAccepted, &a)
	return a, err
}

// Wait asks for the reply to a message and lets the server hold the answer for up to patience. It ends when a person has to
// decide something first, too.
func (c *Client) Wait(ctx context.Context, id string, patience time.Duration) (Reply, error) {
	return c.reply(ctx, id, "wait="+patience.String())
}

// WaitAnswer is Wait that a question to a person does not end.
func (c *Client) WaitAnswer(ctx context.Context, id string, patience time.Duration) (Reply, error) {
	return c.reply(ctx, id, "until=answer&wait="+patience.String())
}

func (c *Client) reply(ctx context.Context, id, query string) (r Reply, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/messages/"+url.PathEscape(id)+"/reply?"+query, nil, http.StatusOK, &r)
	return r, err
}

// Approval is a call that waits for a person.
type Approval struct {
	ID      string `json:"approval"`
	Session string `json:"session"`
}

// Approvals lists the open ones of this client's sessions; a long list is cut.
func (c *Client) Approvals(ctx context.Context) ([]Approval, error) {
	var list struct {
		Approvals []Approval `json:"approvals"`
	}
	err := c.do(ctx, http.MethodGet, "/v1/approvals", nil, http.StatusOK, &list)
	return list.Approvals, err
}

// Decide answers one ("allow-once", "deny"). Nil: it is decided, perhaps by somebody else and in the same way.
func (c *Client) Decide(ctx context.Context, id, decision string) error {
	b, err := json.Marshal(map[string]string{"decision": decision})
	if err != nil {
		return err
	}
	var told struct{}
	return c.do(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(id), b, http.StatusOK, &told)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, want int, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode != want {
		return &StatusError{Status: res.StatusCode, Body: string(bytes.TrimSpace(b))}
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s %s: %w: %.200q", method, path, err, b)
	}
	return nil
}
