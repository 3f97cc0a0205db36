package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// TestServersSendUsNowhere: a server in the internet names URLs on this machine, in the network around it, or without https.
func TestServersSendUsNowhere(t *testing.T) {
	remote, local := &url.URL{Scheme: "https", Host: "mcp.example"}, &url.URL{Scheme: "http", Host: "localhost:80"}
	for raw, want := range map[string]string{
		"https://as.example/token":         "",
		"https://mcp.example/token":        "",
		"http://as.example/token":          "is not https",
		"http://127.0.0.1/token":           "on this machine",
		"https://localhost:1/token":        "on this machine",
		"https://[::ffff:127.0.0.1]/token": "on this machine",
		"https://10.1.2.3/token":           "private network",
		"https://[fd00::1]/token":          "private network",
		"https://169.254.169.254/latest":   "private network",
		"https://100.64.0.1":               "private network",
		"https://user:pw@as.example":       "no usable URL",
		"javascript:alert(1)":              "no usable URL",
		"file:///etc/passwd":               "no usable URL",
		"":                                 "no usable URL",
	} {
		err := checkEndpoint("token endpoint", raw, remote)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	if err := checkEndpoint("token endpoint", "http://127.0.0.1/token", local); err != nil {
		t.Errorf("both on this machine: %v", err)
	}
	for address, fine := range map[string]bool{"93.184.216.34:443": true, "127.0.0.1:443": false, "10.0.0.1:443": false, "[::1]:443": false, "x": false} {
		if err := checkAddress(address, false); (err == nil) != fine {
			t.Errorf("dial %s: %v", address, err)
		}
	}
	if err := checkAddress("127.0.0.1:443", true); err != nil {
		t.Error(err)
	}
}

// TestTLSOfOthers: what the definition says of its own server (no verification, a certificate of ours) holds for that host only; a name
// that leads to this machine is found out when it is dialled.
func TestTLSOfOthers(t *testing.T) {
	var shown int
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown += len(r.TLS.PeerCertificates) }))
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is tested
	srv.StartTLS()
	defer srv.Close()
	r := newRig(t)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	base := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: srv.TLS.Certificates},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
		},
	}
	r.HTTP = func(definition.Definition) *http.Client { return &http.Client{Transport: base} }
	get := func(server, target string) error {
		t.Helper()
		web, err := r.httpFor(definition.Definition{}, &url.URL{Scheme: "https", Host: server})
		if err != nil {
			t.Fatal(err)
		}
		_, err = post(t.Context(), web, "token endpoint", target, http.Header{}, nil)
		return err
	}
	if err := get("own.example", "https://own.example/token?secret=s3cr3t"); err != nil || shown != 1 {
		t.Errorf("the own host: %v, %d certificates shown", err, shown)
	}
	if err := get("own.example", srv.URL+"/token"); err == nil || !strings.Contains(err.Error(), "no address of the internet") {
		t.Errorf("a server in the internet that leads to this machine: %v", err)
	}
	if err := get("localhost", srv.URL+"/token"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another host, not verified: %v", err)
	}
	base.TLSClientConfig.RootCAs = pool
	if err := get("localhost", srv.URL+"/token"); err != nil || shown != 1 {
		t.Errorf("another host, verified: %v, %d certificates shown", err, shown)
	}
	base.DialContext = nil
	if err := get("own.invalid", "https://own.invalid/token?secret=s3cr3t"); err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("an error shows the URL: %v", err)
	}
}

func TestNew(t *testing.T) {
	r := newRig(t)
	for name, bend := range map[string]func(*Config){
		"store": func(c *Config) { c.Store = nil }, "seal": func(c *Config) { c.Seal = nil }, "http": func(c *Config) { c.HTTP = nil },
		"now": func(c *Config) { c.Now = nil }, "log": func(c *Config) { c.Log = nil }, "timeout": func(c *Config) { c.Timeout = maxTimeout + 1 },
	} {
		c := r.Config
		bend(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
