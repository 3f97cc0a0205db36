// Package provider is what the adapters to models behind HTTP share: the connection, when a request is sent again, what
// is read of a stream of events, what a failure means, and how the key stays out of texts.
//
// It promises:
//
//   - A request is sent at most three times, again only before any of the answer was read, and only for what may pass:
//     not sent at all (connection refused, name not found), 408, 429, 5xx. Retry-After is obeyed as far as the context's
//     deadline allows, else it is reported.
//   - Redirects are not followed: they would carry the key elsewhere.
//   - What is read is bounded: an answer by MaxAnswer, the body of an error by 64 KiB.
//   - Errors are *model.Error with its class, or the context's own when it has ended; none holds the key.
package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultMaxAnswer = 8 << 20
	defaultDelay     = 500 * time.Millisecond
	maxHeader        = 1 << 20
	idle             = 512 // connections kept; one a running turn
	idleTime         = 90 * time.Second
	patience         = 10 * time.Second // for a connection, and for its encryption
)

// Config says which model answers. BaseURL and Model are required.
type Config struct {
	Provider string // first half of the model's name; the adapter has a default
	BaseURL  string // "https://api.openai.com/v1"; no user, query or fragment; an adapter may have a default
	APIKey   string // "" sends none
	Model    string
	// Proxy is http.ProxyFromEnvironment or the like; nil goes to the server directly.
	Proxy func(*http.Request) (*url.URL, error)
	// MaxAnswer is the most bytes of one answer on the wire; 0 is 8 MiB.
	MaxAnswer int64
	// Delay is waited before the first repeat of a request, and grows from there; 0 is 500 ms.
	Delay time.Duration
	// Dial opens connections; nil is TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Link is the way to one model. It is safe for concurrent use.
type Link struct {
	cfg    Config
	http   *http.Client
	secret Secret
}

// New checks cfg; it calls nobody.
func New(cfg Config) (*Link, error) {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the base URL of a model must be like https://api.openai.com/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the base URL of a model at %s must have no user, query or fragment; give the key as api_key", u.Host)
	case cfg.Model == "":
		return nil, fmt.Errorf("no model is named for %s", cfg.BaseURL)
	case strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, fmt.Errorf("the API key for %s holds a space or a control character", u.Host)
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if cfg.MaxAnswer == 0 {
		cfg.MaxAnswer = defaultMaxAnswer
	}
	if cfg.Delay == 0 {
		cfg.Delay = defaultDelay
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: patience}).DialContext
	}
	return &Link{cfg: cfg, secret: Secret(cfg.APIKey), http: &http.Client{
		Transport: &http.Transport{
			Proxy: cfg.Proxy, DialContext: cfg.Dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: patience,
			MaxIdleConns: idle, MaxIdleConnsPerHost: idle, IdleConnTimeout: idleTime, MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Name is "provider/model".
func (l *Link) Name() string { return l.cfg.Provider + "/" + l.cfg.Model }

// Endpoint is the base URL.
func (l *Link) Endpoint() string { return l.cfg.BaseURL }

// Model is the model's name at the provider.
func (l *Link) Model() string { return l.cfg.Model }

// Secret is the key, to keep it out of texts.
func (l *Link) Secret() Secret { return l.secret }

// CloseIdle ends the connections that are kept for the next call.
func (l *Link) CloseIdle() { l.http.CloseIdleConnections() }
