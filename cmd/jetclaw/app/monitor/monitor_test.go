package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/monitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is a module that is ready when ok is closed, or says why it is not.
type part struct {
	runs  chan struct{} // closed once Run has begun
	ok    chan struct{}
	wrong atomic.Pointer[error]
}

func newPart() *part { return &part{runs: make(chan struct{}), ok: make(chan struct{})} }

func (p *part) Run(ctx context.Context) error {
	close(p.runs)
	<-ctx.Done()
	return nil
}

func (p *part) Ready(ctx context.Context) error {
	if err := p.wrong.Load(); err != nil {
		return *err
	}
	select {
	case <-p.ok:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it waits for its consumer: %w", ctx.Err())
	}
}

// rig is a monitor that listens, and the modules that it asks.
type rig struct {
	t         *testing.T
	addr      string
	readiness *monitor.Readiness
	lost      atomic.Pointer[[]string]
	metrics   func(io.Writer) error
}

func newRig(t *testing.T, listen string, hosts ...string) *rig {
	t.Helper()
	r := &rig{t: t, metrics: func(w io.Writer) error { _, err := io.WriteString(w, "m 1\n"); return err }}
	r.lost.Store(&[]string{})
	r.readiness = monitor.NewReadiness(func() []string { return *r.lost.Load() }, func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "…") })
	s, err := monitor.Listen(t.Context(), monitor.Config{
		Listen: listen, Hosts: hosts, Readiness: r.readiness, Metrics: func(w io.Writer) error { return r.metrics(w) }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.addr = s.Addr()
	r.run(s)
	return r
}

// run runs a module until the end of the test.
func (r *rig) run(s lifecycle.Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-done; err != nil {
				r.t.Error(err)
			}
		}
	}
	r.t.Cleanup(stop)
	return stop
}

// get asks as a program, on a connection of its own. header holds names and values; Host is one of them.
func (r *rig) get(path string, header ...string) (status int, body string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.addr+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Close = true
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (r *rig) ready(wantStatus int) monitor.Report {
	r.t.Helper()
	r.readiness.Forget()
	status, body := r.get("/readyz")
	var report monitor.Report
	if err := json.Unmarshal([]byte(body), &report); err != nil || status != wantStatus || report.Ready != (status == http.StatusOK) {
		r.t.Fatalf("HTTP %d, want %d: %s (%v)", status, wantStatus, body, err)
	}
	return report
}

// TestReadyzNamesWhatIsNotReady goes through the life of a process.
func TestReadyzNamesWhatIsNotReady(t *testing.T) {
	r := newRig(t, "127.0.0.1:0")
	turns, mcp := newPart(), newPart()
	first := r.readiness.Watch(lifecycle.Module{Name: "turns", Service: turns})
	second := r.readiness.Watch(lifecycle.Module{Name: "mcp", Service: mcp})

	if got := r.ready(http.StatusServiceUnavailable); !slices.Equal(got.NotReady, []string{"turns", "mcp"}) || got.Modules[0].State != monitor.Waiting {
		t.Errorf("before the start: %+v", got)
	}
	r.run(first)
	stop := r.run(second)
	<-turns.runs
	<-mcp.runs
	close(turns.ok)
	got := r.ready(http.StatusServiceUnavailable)
	if !slices.Equal(got.NotReady, []string{"mcp"}) || got.Modules[0].State != monitor.Ready || got.Modules[1].State != monitor.NotReady ||
		!strings.Contains(got.Modules[1].Error, "waits for its consumer") {
		t.Errorf("one of two is ready: %+v", got)
	}
	close(mcp.ok)
	if got := r.ready(http.StatusOK); len(got.NotReady) != 0 {
		t.Errorf("%+v", got)
	}

	wrong := errors.New("the key s3cr3t is wrong")
	mcp.wrong.Store(&wrong)
	if got := r.ready(http.StatusServiceUnavailable); got.Modules[1].Error != "the key … is wrong" {
		t.Errorf("%+v", got)
	}
	mcp.wrong.Store(nil)

	r.lost.Store(&[]string{"turns"})
	if got := r.ready(http.StatusServiceUnavailable); !slices.Equal(got.NotReady, []string{"nats"}) || !slices.Equal(got.Lost, []string{"turns"}) {
		t.Errorf("NATS is lost: %+v", got)
	}
	r.lost.Store(&[]string{})
	r.ready(http.StatusOK)

	stop()
	if got := r.ready(http.StatusServiceUnavailable); got.Modules[1].State != monitor.Ended {
		t.Errorf("one has ended: %+v", got)
	}
}

// TestDraining: what was ready a moment ago is not, as soon as the process is asked to stop; it lives.
func TestDraining(t *testing.T) {
	r := newRig(t, "127.0.0.1:0")
	turns := newPart()
	close(turns.ok)
	r.run(r.readiness.Watch(lifecycle.Module{Name: "turns", Service: turns}))
	<-turns.runs
	r.ready(http.StatusOK)
	r.readiness.Drain()
	if status, body := r.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"draining":true`) {
		t.Errorf("HTTP %d: %s", status, body)
	}
	if status, _ := r.get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: HTTP %d", status)
	}
}

func TestOtherPaths(t *testing.T) {
	r := newRig(t, "127.0.0.1:0")
	if status, body := r.get("/metrics"); status != http.StatusOK || body != "m 1\n" {
		t.Errorf("HTTP %d: %s", status, body)
	}
	for _, path := range []string{"/", "/debug/pprof/", "/metrics/x"} {
		if status, _ := r.get(path); status != http.StatusNotFound {
			t.Errorf("%s: HTTP %d", path, status)
		}
	}
}

// TestWhoMayAsk: no web page of somebody else, under whatever name it comes.
func TestWhoMayAsk(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", ":0"} {
		r := newRig(t, listen, "claw.example")
		_, port, _ := strings.Cut(r.addr[strings.LastIndex(r.addr, ":"):], ":")
		r.addr = "127.0.0.1:" + port
		for host, want := range map[string]int{
			"localhost": 200, "127.0.0.1:" + port: 200, "[::1]:1": 200, "10.1.2.3:9464": 200, "turns:9464": 200, "CLAW.example": 200,
			"turns.jetclaw.svc.cluster.local": 200, "host.docker.internal": 200, "evil.example": 421, "localhost.evil.example": 421,
			"127.0.0.1.evil.example:9464": 421, "xlocal.": 200, "evil.example.": 421,
		} {
			for _, path := range []string{"/healthz", "/metrics"} {
				if status, _ := r.get(path, "Host", host); status != want {
					t.Errorf("%s: %s of %q: HTTP %d, want %d", listen, path, host, status, want)
				}
			}
		}
		for _, origin := range []string{"https://evil.example", "null", "http://localhost:1"} {
			if status, _ := r.get("/metrics", "Origin", origin); status != http.StatusForbidden {
				t.Errorf("from %s: HTTP %d", origin, status)
			}
		}
		if status, _ := r.get("/metrics", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
			t.Errorf("from another site: HTTP %d", status)
		}
	}
}

// TestNoMoreThanSome: who is slow does not take all of the process.
func TestNoMoreThanSome(t *testing.T) {
	const most = 16
	r := newRig(t, "127.0.0.1:0")
	begun, hold := make(chan struct{}), make(chan struct{})
	r.metrics = func(io.Writer) error {
		begun <- struct{}{}
		<-hold
		return nil
	}
	ended := make(chan struct{})
	for range most {
		go func() {
			r.get("/metrics")
			ended <- struct{}{}
		}()
	}
	for range most {
		<-begun
	}
	if status, _ := r.get("/healthz"); status != http.StatusTooManyRequests {
		t.Errorf("HTTP %d", status)
	}
	close(hold)
	for range most {
		<-ended
	}
	if status, _ := r.get("/healthz"); status != http.StatusOK {
		t.Errorf("then HTTP %d", status)
	}
}

func TestAddresses(t *testing.T) {
	for _, addr := range []string{"", "9464", "localhost", "127.0.0.1:"} {
		if monitor.CheckAddress(addr) == nil {
			t.Errorf("%q is taken", addr)
		}
	}
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.9.9.9:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "example.org:1": false, "localhost": false,
	} {
		if got := monitor.Loopback(addr); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

func TestTheProfilerStaysAtHome(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "example.org:0"} {
		if s, err := monitor.Profiler(t.Context(), addr, log); err == nil {
			t.Errorf("it listens on %s", addr)
			_ = s.Close()
		}
	}
	s, err := monitor.Profiler(t.Context(), "127.0.0.1:0", log)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, addr: s.Addr()}
	r.run(s)
	if status, body := r.get("/debug/pprof/goroutine?debug=1"); status != http.StatusOK || !strings.Contains(body, "goroutine profile") {
		t.Errorf("HTTP %d: %s", status, body)
	}
	if status, _ := r.get("/debug/pprof/", "Host", "evil.example"); status != http.StatusForbidden {
		t.Errorf("HTTP %d", status)
	}
	if status, _ := r.get("/debug/pprof/cmdline"); status != http.StatusForbidden {
		t.Errorf("the command line: HTTP %d", status)
	}
}
