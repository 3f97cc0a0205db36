package oauth

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	maxAnswer  = 1 << 20   // bytes of an answer
	maxHeaders = 256 << 10 // bytes of its headers
	maxRecord  = 512 << 10 // bytes of a record: a store takes a megabyte
)

// transport sends requests to the host that the operator configured as the definition says; to all others, which servers name,
// with the usual verification and only at addresses of the internet. Connections are not kept: logins are rare, and what is idle
// would have to be closed by somebody.
type transport struct {
	host       string
	own, other http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.EqualFold(r.URL.Hostname(), t.host) {
		return t.own.RoundTrip(r)
	}
	return t.other.RoundTrip(r)
}

// httpFor returns the client for all requests that concern a server. As its transport is none of net/http, the SDK, whose own
// guard is off as soon as a transport brings a dialer, leaves it as it is.
func (k *Keeper) httpFor(d definition.Definition, server *url.URL) (*http.Client, error) {
	base := http.DefaultTransport
	if c := k.HTTP(d); c != nil && c.Transport != nil {
		base = c.Transport
	}
	b, ok := base.(*http.Transport)
	if !ok {
		return nil, errors.New("the HTTP client of an MCP server has a transport that cannot be guarded")
	}
	own := b.Clone()
	own.DisableKeepAlives, own.MaxResponseHeaderBytes = true, maxHeaders
	other := own.Clone()
	if other.TLSClientConfig == nil {
		other.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	other.TLSClientConfig.InsecureSkipVerify = false
	other.TLSClientConfig.Certificates, other.TLSClientConfig.GetClientCertificate = nil, nil
	if !proxied(other) { // the address of a proxy would be checked, which may well be private
		local := isLoopback(server.Hostname())
		other.DialTLSContext = nil
		other.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
			return checkAddress(address, local)
		}}).DialContext
	}
	return &http.Client{Transport: transport{server.Hostname(), own, other}, Timeout: k.Timeout}, nil
}

func proxied(t *http.Transport) bool {
	if t.Proxy == nil {
		return false
	}
	u, err := t.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "proxy.invalid"}})
	return err == nil && u != nil
}

// checkAddress looks at what a name has turned out to be, when it is dialled.
func checkAddress(address string, local bool) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address", address)
	}
	if ip := to.Addr().Unmap(); isPrivate(ip) || ip.IsLoopback() && !local {
		return fmt.Errorf("%s is no address of the internet: a server may not send us there", ip)
	}
	return nil
}

// answer is all that an endpoint has said.
type answer struct {
	status int
	kind   string // its media type
	body   []byte
}

// post sends body and reads the answer. Redirects are not followed: they would take what is sent to where nobody checked.
func post(ctx context.Context, c *http.Client, what, endpoint string, header http.Header, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("ask the %s at %s: %w", what, hostOf(endpoint), cause(err))
	}
	req.Header = header
	strict := *c
	strict.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := strict.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("ask the %s at %s: %w", what, hostOf(endpoint), cause(err))
	}
	defer resp.Body.Close()
	if 300 <= resp.StatusCode && resp.StatusCode < 400 {
		return answer{}, fmt.Errorf("ask the %s at %s: it redirects (status %d), which is not followed", what, hostOf(endpoint), resp.StatusCode)
	}
	read, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer of the %s at %s: %w", what, hostOf(endpoint), cause(err))
	}
	if len(read) > maxAnswer {
		return answer{}, fmt.Errorf("the %s at %s answered with more than %d bytes", what, hostOf(endpoint), maxAnswer)
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || len(kind) > 100 {
		kind = "of an unknown type"
	}
	return answer{resp.StatusCode, kind, read}, nil
}

// cause removes the URL from an error of net/http.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// short is an error of the SDK that may repeat what a server has sent.
func short(err error) error {
	if s := err.Error(); len(s) > 400 {
		return errors.New(strings.ToValidUTF8(s[:400], "") + "…")
	}
	return err
}
