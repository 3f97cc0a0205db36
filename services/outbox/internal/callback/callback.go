package callback

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

// Config says where to push.
type Config struct {
	URL   string // http or https
	Token string // bearer token; "" sends none
	// RootCAs and client certificates for https; nil takes the system's.
	TLS *tls.Config
}

// Sender pushes to one URL. Its methods may be called from any goroutine.
type Sender struct {
	url    string
	token  string
	client *http.Client
}

const (
	dialTimeout = 10 * time.Second
	maxHeader   = 64 << 10
)

// New checks the configuration; it does not call the URL.
func New(c Config) (*Sender, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, errors.New("the callback URL cannot be read") // the parser's error quotes it, secrets included
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the callback URL has to begin with http:// or https:// and a host")
	case u.User != nil:
		return nil, errors.New("the callback URL holds a user or password: use the token instead")
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the callback token holds a space, a control character or one beyond ASCII")
	}
	return &Sender{url: c.URL, token: c.Token, client: &http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			TLSClientConfig:        c.TLS.Clone(),
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// payload is the body of the POST.
type payload struct {
	Session  string   `json:"session"`
	Delivery string   `json:"delivery"`
	Attempt  int      `json:"attempt"`
	Repeat   bool     `json:"repeat"`
	Kind     string   `json:"kind"`
	Text     string   `json:"text"`
	Answers  []string `json:"answers"`
	Approval string   `json:"approval,omitempty"`
}

// Send makes one attempt. Its errors are *channel.Error.
func (s *Sender) Send(ctx context.Context, i channel.Item) (channel.Receipt, error) {
	answers := i.Answers
	if answers == nil {
		answers = []string{}
	}
	body, err := json.Marshal(payload{
		Session: i.Session.String(), Delivery: i.Delivery, Attempt: i.Attempt, Repeat: i.Repeat,
		Kind: i.Kind, Text: i.Text, Answers: answers, Approval: i.Approval,
	})
	if err != nil {
		return channel.Receipt{}, channel.Errorf(channel.Permanent, "callback: the item cannot be written as JSON")
	}
	var touched atomic.Bool // something of the request may be on the wire
	trace := &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { touched.Store(true) },
		WroteRequest:     func(httptrace.WroteRequestInfo) { touched.Store(true) },
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return channel.Receipt{}, channel.Errorf(channel.Permanent, "callback: the URL cannot be called")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", i.Delivery)
	req.Header.Set("User-Agent", "jetclaw")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return channel.Receipt{}, transportError(err, touched.Load())
	}
	defer func() { _ = res.Body.Close() }() // the answer's status is known: nothing that closing says changes it
	if res.StatusCode/100 == 2 {
		return channel.Receipt{ID: receiptOf(res, i.Delivery)}, nil
	}
	return channel.Receipt{}, statusError(res, time.Now())
}

// transportError is an attempt without an answer.
func transportError(err error, touched bool) *channel.Error {
	if touched {
		return channel.Errorf(channel.Unknown, "callback: no answer to what was sent: %s", describe(err))
	}
	return channel.Errorf(channel.Retry, "callback: nothing was sent: %s", describe(err))
}

// describe says what happened in words of ours. Go's own errors quote the URL, and what the receiver answered.
func describe(err error) string {
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		op   *net.OpError
		to   interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &to) && to.Timeout():
		return "the time was up"
	case errors.Is(err, context.Canceled):
		return "the call was cut off"
	case errors.As(err, &dns):
		return fmt.Sprintf("host %q was not found", dns.Name)
	case errors.As(err, &cert):
		return "the certificate of the host is not trusted"
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Sprintf("no connection to %v: %v", op.Addr, op.Err)
	default:
		return "the connection broke, or does not speak HTTP"
	}
}
