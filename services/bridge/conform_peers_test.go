//go:build peers

package bridge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// TestPeersConformanceServer runs the server suites of the protocol's own conformance tests against the bridge as it is served over
// HTTP, guard included, with the fixtures that they call. What may fail is in testdata/accepted.yml: nothing.
func TestPeersConformanceServer(t *testing.T) {
	const released, next = "@modelcontextprotocol/conformance", "conformance-next"
	for name, c := range map[string]struct {
		suite     string
		args      []string
		scenarios int // at least
	}{
		"active":     {released, []string{"--suite", "active"}, 30},
		"pending":    {released, []string{"--suite", "pending"}, 2},
		"2025-11-25": {next, []string{"--suite", "all", "--spec-version", "2025-11-25"}, 33},
		"2026-07-28": {next, []string{"--suite", "all", "--spec-version", "2026-07-28"}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runSuite(t, c.suite, append([]string{"server", "--url", serveFixtures(t)}, c.args...)...)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			judgeSuite(t, out, c.scenarios)
		})
	}
}

// summaryLine says what became of a scenario, and of how many of its checks. Warnings are none of them.
var summaryLine = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed`)

// unchecked are scenarios in which nothing is checked. This one is about streams that a client takes up again by the ids of their
// events, which a server may leave out (it is warned): here a client goes on from its cursor instead.
var unchecked = map[string]bool{"server-sse-polling": true}

func judgeSuite(t *testing.T, out string, least int) {
	t.Helper()
	accepted := acceptedScenarios(t)
	lines, checks := summaryLine.FindAllStringSubmatch(out, -1), 0
	for _, m := range lines {
		passed, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		checks += passed
		switch failed := m[3] != "0"; {
		case failed && !accepted[m[1]]:
			t.Errorf("%s fails", m[1])
		case !failed && accepted[m[1]]:
			t.Errorf("%s passes: take it out of testdata/accepted.yml", m[1])
		case (passed == 0) != unchecked[m[1]]:
			t.Errorf("%s: %d checks", m[1], passed)
		}
	}
	t.Logf("%d scenarios, %d checks", len(lines), checks)
	if len(lines) < least {
		t.Errorf("less than %d scenarios:\n%s", least, out)
	}
}

var acceptedLine = regexp.MustCompile(`(?m)^  - (\S+)`)

// acceptedScenarios reads the file, which has the form of the suite's own baselines. It is not given to the suite: with a baseline,
// that takes warnings for failures.
func acceptedScenarios(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/accepted.yml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range acceptedLine.FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = true
	}
	return out
}

// runSuite runs the program of one version of the suite. Its node is that of the package beside it, as it needs a recent one.
func runSuite(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	dir := os.Getenv("JETCLAW_PEERS")
	if dir == "" {
		t.Fatal("JETCLAW_PEERS is not set: run these tests by `just test-mcp-peers`")
	}
	modules := filepath.Join(dir, "mcp", "node_modules")
	c := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "node"), append([]string{filepath.Join(modules, name, "dist", "index.js")}, args...)...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := c.CombinedOutput()
	return string(out), err
}

// serveFixtures serves a bridge that is attached to a bus, with the fixtures, and returns its URL. The suite sends no tokens, so each
// request is given one on its way in: the guard is the real one.
func serveFixtures(t *testing.T) string {
	t.Helper()
	s := bustest.New(t, Spec(), bus.Spec{Name: conversations, Serves: []string{"list", "get"}})
	serveOneConversation(t, s.Connect(t, conversations))
	b, err := New(Config{Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	b.extend = fixtures(b)
	handler, run, err := b.handler()
	if err != nil {
		t.Fatal(err)
	}
	token := rand.Text()
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("suite "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	guarded := b.guard(handler, HTTPConfig{Tokens: tokens})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		guarded.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	conn := s.Connect(t, Name)
	ended := make(chan error, 2)
	go func() { ended <- b.Attach(ctx, conn) }()
	go func() { run(ctx); ended <- nil }()
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		cancel()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return strings.Replace(h.URL, "127.0.0.1", "localhost", 1) + Endpoint
}

// serveOneConversation answers in place of the conversations service with one conversation: the suite asks for lists of resources, and those of
// the bridge are conversations.
func serveOneConversation(t *testing.T, conn *bus.Conn) {
	t.Helper()
	one := conversation{Session: session.ID("main.terminal.local.default"), Title: "a title", People: []string{"local"}, Updated: time.Unix(0, 0)}
	for verb, answer := range map[string]any{"list": listAnswer{Conversations: []conversation{one}}, "get": map[string]any{"conversation": one}} {
		if err := conn.Serve(t.Context(), verb, func(context.Context, []byte) (any, error) { return answer, nil }); err != nil {
			t.Fatal(err)
		}
	}
}
