package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	maxRedirects = 3
	maxHeader    = 64 << 10
	maxAnswer    = 16 << 20 // one message
	maxChallenge = 4 << 10
)

// newHTTP makes the HTTP client of one connection. What it sends ends with tied.
func newHTTP(o Options, tied *leash, f *flood) (*http.Client, error) {
	d := o.Definition
	to, err := url.Parse(d.URL)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, errors.New("the url is none of http or https") // it may hold a password: it is not shown
	}
	trust, err := tlsConfig(d)
	if err != nil {
		return nil, err
	}
	dial := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	s := &screen{
		origin: originOf(to), sse: d.Transport == definition.SSE, headers: headersOf(o),
		authorize: o.Authorize, tied: tied, hide: o.hide, flood: f,
		next: &http.Transport{
			Proxy:                  o.Proxy,
			DialContext:            dial.DialContext,
			TLSClientConfig:        trust,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
	return &http.Client{Transport: s, CheckRedirect: s.redirect}, nil
}

// headersOf are the configured headers. An Authorizer takes the place of a configured Authorization.
func headersOf(o Options) http.Header {
	h := http.Header{"User-Agent": {"jetclaw/" + o.Client}}
	for name, value := range o.Definition.Headers {
		if o.Authorize != nil && strings.EqualFold(name, "Authorization") {
			continue
		}
		h.Set(name, value)
	}
	return h
}

// originOf is scheme, host and port.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// redirect follows what stays at the configured address: headers with credentials go nowhere else.
func (s *screen) redirect(req *http.Request, via []*http.Request) error {
	to := line(req.URL.Scheme+"://"+req.URL.Host+req.URL.Path, maxName)
	switch {
	case originOf(req.URL) != s.origin:
		return &addressError{fmt.Sprintf("the server redirects to %s: configure that address if it is the right one", to)}
	case len(via) > maxRedirects:
		return &addressError{fmt.Sprintf("the server redirects more than %d times", maxRedirects)}
	case req.Method != via[0].Method:
		return &addressError{fmt.Sprintf("the server redirects %s to %s as %s: configure that address", via[0].Method, to, req.Method)}
	}
	return nil
}

// tlsConfig is how certificates are checked, and which one is shown.
func tlsConfig(d definition.Definition) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if d.SSLVerify != nil && !*d.SSLVerify {
		c.InsecureSkipVerify = true // the operator has asked for it
	}
	if d.CACert != "" {
		pem, err := os.ReadFile(d.CACert)
		if err != nil {
			return nil, fmt.Errorf("caCert: %w", err)
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("caCert: %s holds no certificate (PEM)", d.CACert)
		}
	}
	if (d.ClientCert == "") != (d.ClientKey == "") {
		return nil, errors.New("clientCert and clientKey go together: one of them is missing")
	}
	if d.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(d.ClientCert, d.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("clientCert and clientKey: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
