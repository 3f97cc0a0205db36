package cli

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	ready := true
	monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz":
			_, _ = w.Write([]byte("ok\n"))
		case r.URL.Path == "/readyz" && ready:
			_, _ = w.Write([]byte("ready\n"))
		case r.URL.Path == "/readyz":
			http.Error(w, "turns: no connection", http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer monitor.Close()
	at := strings.TrimPrefix(monitor.URL, "http://")
	_, port, _ := strings.Cut(at, ":")
	ask := func(args ...string) (string, error) {
		var out bytes.Buffer
		s := &shell{out: &out}
		c := s.healthCommand()
		c.SetArgs(args)
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
	for _, addr := range []string{at, ":" + port, "0.0.0.0:" + port} {
		if out, err := ask(addr); err != nil || out != "ready\n" {
			t.Errorf("%s: %q, %v", addr, out, err)
		}
	}
	ready = false
	if out, err := ask(at); err == nil || exitCode(err) != exitFailed || !strings.Contains(err.Error(), "503") ||
		!strings.Contains(err.Error(), "turns: no connection") || out != "" {
		t.Errorf("not ready: %q, %v", out, err)
	}
	if out, err := ask("--live", at); err != nil || out != "ok\n" {
		t.Errorf("live: %q, %v", out, err)
	}
	monitor.Close()
	if _, err := ask(at); err == nil || exitCode(err) != exitFailed || !strings.Contains(err.Error(), "--monitor") {
		t.Errorf("nobody there: %v", err)
	}
	var usage *usageError
	if _, err := ask("nowhere"); !errors.As(err, &usage) {
		t.Errorf("no address: %v", err)
	}
}
