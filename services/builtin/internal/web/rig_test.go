package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/builtin/internal/web/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const publicIP = "93.184.216.34"

// rig is an internet with one server, which has every public address. The check of addresses runs as in life; only what comes
// after it, the connection to a checked address, is bent to the server.
type rig struct {
	f    *fetcher
	http *httptest.Server
	tls  *httptest.Server

	mu     sync.Mutex
	names  map[string][][]string // answers of the resolver, one after the other; the last one stays
	asked  []string
	dialed []netip.AddrPort
	seen   []*http.Request
}

func newRig(t *testing.T, h http.HandlerFunc) *rig {
	t.Helper()
	r := &rig{names: map[string][][]string{}}
	serve := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, req.Clone(context.Background()))
		r.mu.Unlock()
		h(w, req)
	})
	r.http, r.tls = httptest.NewServer(serve), httptest.NewTLSServer(serve)
	t.Cleanup(r.http.Close)
	t.Cleanup(r.tls.Close)
	trust := x509.NewCertPool()
	trust.AddCert(r.tls.Certificate())
	r.f = newFetcher("test", &egress.Dialer{Budget: maxWire, Lookup: r.lookup, Connect: r.connect}, &tls.Config{RootCAs: trust})
	return r
}

// lookup knows every name as a public one, but for those that names tells otherwise.
func (r *rig) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, host)
	answer := []string{publicIP}
	if all := r.names[host]; len(all) > 0 {
		answer = all[0]
		if len(all) > 1 {
			r.names[host] = all[1:]
		}
	}
	if len(answer) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var addrs []netip.Addr
	for _, a := range answer {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

func (r *rig) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	r.mu.Lock()
	r.dialed = append(r.dialed, to)
	r.mu.Unlock()
	srv := r.http
	if to.Port() == 443 {
		srv = r.tls
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", srv.Listener.Addr().String())
}

// dials is how often a connection was made; none may be to anything but the public address.
func (r *rig) dials(t *testing.T) int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dialed {
		if !slices.Contains([]string{publicIP, "8.8.8.8", "2606:4700:4700::1111"}, d.Addr().String()) {
			t.Errorf("%v was dialled", d)
		}
	}
	return len(r.dialed)
}

func (r *rig) fetch(t *testing.T, url string, offset int) (tool.Result, error) {
	t.Helper()
	args, err := json.Marshal(fetchArgs{URL: url, Offset: offset})
	if err != nil {
		t.Fatal(err)
	}
	return r.f.run(t.Context(), tool.Call{Arguments: args})
}

// page serves one body.
func page(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		_, _ = w.Write([]byte(body))
	}
}
