package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/builtin/internal/web/egress"
)

const (
	maxRedirects = 5
	maxBody      = 5 << 20  // after decompression
	maxWire      = 16 << 20 // of one connection
	maxHeader    = 64 << 10
)

// fetcher runs web_fetch.
type fetcher struct {
	agent     string
	timeout   time.Duration
	transport *http.Transport
}

// newFetcher dials with d, and trusts the system's certificates if trust is nil.
func newFetcher(agent string, d *egress.Dialer, trust *tls.Config) *fetcher {
	return &fetcher{agent: agent, timeout: fetchTimeout, transport: &http.Transport{
		Proxy:                  nil, // the environment's would dial what is checked here
		DialContext:            d.DialContext,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    10 * time.Second,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeader,
	}}
}

type fetchArgs struct {
	URL    string `json:"url"`
	Offset int    `json:"offset"`
}

func (f *fetcher) run(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := tool.Read[fetchArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Offset < 0 {
		return tool.Result{}, tool.Refuse("the offset is negative")
	}
	u, err := target(a.URL)
	if err != nil {
		return tool.Result{}, tool.Refuse("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	got, err := f.fetch(ctx, u)
	if err != nil {
		return tool.Result{}, err
	}
	return got.show(a.Offset)
}

// answer is what the last address of a chain of redirects said.
type answer struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte
	length int64 // of the whole body; -1 if that is not known
	cut    bool  // body is its beginning
}

// fetch follows redirects. It uses the transport itself, not an http.Client: each request is a new one that inherits
// nothing, neither a cookie nor a Referer.
func (f *fetcher) fetch(ctx context.Context, u *url.URL) (*answer, error) {
	for hop := 0; ; hop++ {
		res, err := f.get(ctx, u)
		if err != nil {
			return nil, hopError(err, hop)
		}
		to, ok := redirect(res)
		if !ok {
			return read(res, u)
		}
		res.Body.Close()
		if hop == maxRedirects {
			return nil, fmt.Errorf("the page redirects more than %d times", maxRedirects)
		}
		next, err := u.Parse(to)
		if err != nil {
			return nil, errors.New("the page redirects to an address that cannot be read")
		}
		if err := check(next); err != nil {
			return nil, fmt.Errorf("the page redirects to what is not fetched: %w", err)
		}
		if u.Scheme == "https" && next.Scheme == "http" {
			return nil, errors.New("the page redirects from https to http: that is not followed")
		}
		u = next
	}
}

func (f *fetcher) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("the address cannot be called")
	}
	req.Header.Set("User-Agent", f.agent)
	req.Header.Set("Accept", "text/markdown,text/html;q=0.9,application/xhtml+xml;q=0.9,text/plain;q=0.8,*/*;q=0.5")
	return f.transport.RoundTrip(req)
}

func redirect(res *http.Response) (to string, ok bool) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to = res.Header.Get("Location")
	}
	return to, to != ""
}

func read(res *http.Response, u *url.URL) (*answer, error) {
	defer res.Body.Close()
	a := &answer{url: u, status: res.StatusCode, header: res.Header, length: res.ContentLength}
	if res.Uncompressed {
		a.length = -1
	}
	if a.length > maxBody && a.status < http.StatusBadRequest && !readable(mediaType(a.header, nil)) && mediaType(a.header, nil) != "" {
		return a, nil // only its size is told
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("the page broke off: %w", spoken(err))
	}
	if a.cut = len(body) > maxBody; a.cut {
		body = body[:maxBody]
	} else {
		a.length = int64(len(body))
	}
	a.body = body
	return a, nil
}

// hopError says why a request had no answer. What was not even dialled at the first address is a refusal.
func hopError(err error, hop int) error {
	if forbidden, ok := errors.AsType[*egress.Forbidden](err); ok {
		if hop == 0 {
			return tool.Refuse("the host is not fetched from: %v", forbidden)
		}
		return fmt.Errorf("the page redirects to a host that is not fetched from: %w", forbidden)
	}
	if hop > 0 {
		return fmt.Errorf("after %d redirects: %w", hop, spoken(err))
	}
	return spoken(err)
}

// spoken is an error of the network in words of ours. Go's own quote addresses, and what the other side answered.
func spoken(err error) error {
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		op   *net.OpError
		to   interface{ Timeout() bool }
	)
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &to) && to.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errors.New("the time was up")
	case errors.Is(err, egress.ErrFlood):
		return errors.New("the server sends too much")
	case errors.As(err, &dns):
		return errors.New("the host was not found")
	case errors.As(err, &cert):
		return errors.New("the certificate of the host is not trusted")
	case errors.As(err, &op) && op.Op == "dial":
		return errors.New("the host does not take connections")
	default:
		return errors.New("the connection broke, or does not speak HTTP")
	}
}
