package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/monitor"
)

// monitored is a daemon that can be asked how it is.
type monitored struct {
	*daemon
	address string
}

// watch starts a target with a monitor.
func (u *user) watch(target string) monitored {
	u.t.Helper()
	address := freeAddress(u.t)
	return monitored{u.start("--target", target, "--monitor", address), address}
}

// get asks on a connection of its own; status 0: nobody listens.
func (m monitored) get(path string) (status int, body string) {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://"+m.address+path, http.NoBody)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (m monitored) readyz(want int) monitor.Report {
	m.t.Helper()
	status, body := m.get("/readyz")
	var r monitor.Report
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != want {
		m.t.Errorf("/readyz: HTTP %d, want %d: %s", status, want, body)
	}
	return r
}

// until asks again and again, as an orchestrator does, until it is answered so.
func (m monitored) until(path string, enough func(status int, body string) bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if enough(m.get(path)) {
			return
		}
	}
	status, body := m.get(path)
	m.t.Fatalf("%s stays at HTTP %d: %s", path, status, body)
}

// TestMonitorOfATarget: a process tells of its own modules and of what it has done, and of nobody else's.
func TestMonitorOfATarget(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "channels: {http: {listen: \"off\"}}\n", model.env()...)
	nats := u.watch("nats")
	doors := u.watch("intake,outbox")
	turns := u.watch("turns")
	u.run("chat", "a word of mine").want(t, 0)

	r := turns.readyz(http.StatusOK)
	if len(r.Modules) != 2 || r.Modules[0].Name != "turns" || !r.Ready || len(r.NotReady) != 0 {
		t.Errorf("%+v", r)
	}
	if r := doors.readyz(http.StatusOK); len(r.Modules) != 3 {
		t.Errorf("%+v", r)
	}
	for _, m := range []monitored{nats, doors, turns} {
		if status, _ := m.get("/healthz"); status != http.StatusOK {
			t.Errorf("/healthz: HTTP %d", status)
		}
	}
	_, ofTurns := turns.get("/metrics")
	_, ofDoors := doors.get("/metrics")
	_, ofNATS := nats.get("/metrics")
	for text, lines := range map[string][]string{
		ofTurns: {
			`jetclaw_turns_total{outcome="completed",cause=""} 1`, `jetclaw_events_appended_total{service="turns",type="turn.started.v1"} 1`,
			`gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="fake",error_type=""} 1`,
			`jetclaw_consumer_pending{stream="EV",consumer="turns"} 0`, `jetclaw_bus_connected{service="turns"} 1`, `jetclaw_ready 1`,
			`jetclaw_bus_refusals_total{service="turns"} 0`, "jetclaw_journal_messages 4", "jetclaw_dead_letters 0",
			"jetclaw_probe_failures_total 0",
		},
		ofDoors: {
			`jetclaw_messages_total{channel="terminal",outcome="received"} 1`, `jetclaw_deliveries_total{channel="terminal",outcome="sent"} 1`,
			`jetclaw_consumer_ack_pending{stream="EV",consumer="outbox"} 0`, "jetclaw_probe_failures_total 0",
		},
		ofNATS: {"jetclaw_dead_letters 0", `jetclaw_bus_connected{service="admin"} 1`, "jetclaw_journal_messages 4", "jetclaw_probe_failures_total 0"},
	} {
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("no line %q in\n%s", line, excerpt(text, line))
			}
		}
		if strings.Contains(text, "of mine") || strings.Contains(text, canary) {
			t.Error("a text or a key is in the metrics")
		}
	}
	if strings.Contains(ofTurns, `service="outbox"`) || strings.Contains(ofDoors, `gen_ai_request_model="fake"`) {
		t.Error("a process tells of another")
	}

	// NATS goes: the others live, and are not ready; it comes back, and so do they.
	if code := nats.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, nats.stderr)
	}
	turns.until("/readyz", func(status int, body string) bool {
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"nats"`) && strings.Contains(body, `"lost":["turns"]`)
	})
	if status, _ := turns.get("/healthz"); status != http.StatusOK {
		t.Errorf("without NATS /healthz is HTTP %d", status)
	}
	again := u.watch("nats")
	turns.until("/readyz", func(status int, _ string) bool { return status == http.StatusOK })
	for _, m := range []monitored{turns, doors, again} {
		if code := m.stop(); code != 0 {
			t.Errorf("exit %d\n%s", code, m.stderr)
		}
	}
}

// excerpt are the lines of the metric that a line is of.
func excerpt(text, line string) string {
	name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
	var out strings.Builder
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, name) {
			out.WriteString(l)
		}
	}
	return out.String()
}

// TestMonitorFlags: what cannot be meant is said before anything is started.
func TestMonitorFlags(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("run", "--pprof", ":6060").want(t, 2, "--pprof", "not loopback")
	u.run("run", "--pprof", "6060").want(t, 2, "--pprof", "127.0.0.1")
	u.run("run", "--monitor", "9464").want(t, 2, "--monitor", ":9464")
	u.env = append(u.env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=authorization="+canary+"\x01")
	r := u.run("run")
	r.want(t, 1, "OTEL_EXPORTER_OTLP_HEADERS")
	if strings.Contains(r.stderr, canary) {
		t.Errorf("it says the header: %s", r.stderr)
	}
}
