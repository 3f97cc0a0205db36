package bus_test

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

var quiet = slog.New(slog.DiscardHandler)

func TestConnectRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = bus.Connect(t.Context(), bus.ConnOptions{Service: "turns", URL: "nats://user:hunter2@" + addr, Log: quiet})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), addr) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestConnectUnknownUser(t *testing.T) {
	s := bustest.New(t)
	other := bustest.New(t)
	_, err := bus.Connect(t.Context(), bus.ConnOptions{
		Service: "admin", URL: s.URL(), Seed: other.Seed(bus.Admin), Log: quiet,
	})
	if fault.KindOf(err) != fault.Denied || strings.Contains(err.Error(), string(other.Seed(bus.Admin))) {
		t.Errorf("%v", err)
	}
}

func TestConnectBadOptions(t *testing.T) {
	for name, o := range map[string]bus.ConnOptions{
		"no service": {URL: "nats://x", Log: quiet},
		"no logger":  {Service: "turns", URL: "nats://x"},
		"no place":   {Service: "turns", Log: quiet},
		"bad seed":   {Service: "turns", URL: "nats://x", Log: quiet, Seed: []byte("SUSECRET")},
	} {
		_, err := bus.Connect(t.Context(), o)
		if err == nil || strings.Contains(err.Error(), "SUSECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestViolations(t *testing.T) {
	s := bustest.New(t, bus.Spec{Name: "cli"})
	c, err := bus.Connect(t.Context(), bus.ConnOptions{Service: "cli", URL: s.URL(), Seed: s.Seed("cli"), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bus.Ask[string](t.Context(), c, "approvals", "decide", "yes")
	if fault.KindOf(err) != fault.Denied {
		t.Errorf("asked what its Spec lacks: %v", err)
	}
	if v := c.Violations(); len(v) != 1 || !strings.Contains(v[0], "svc.approvals.decide") {
		t.Errorf("violations %q", v)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}
