//go:build peers

package conform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The suite sets these for the client that it starts.
const (
	scenarioVar = "MCP_CONFORMANCE_SCENARIO"
	contextVar  = "MCP_CONFORMANCE_CONTEXT"
)

// scenarioTime is what the suite grants the client, of which a part goes to starting.
const scenarioTime = 30 * time.Second

// TestMain is the client when the suite has started this binary; the server's URL is then its last argument.
func TestMain(m *testing.M) {
	if os.Getenv(scenarioVar) == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTime-5*time.Second)
	err := converse(ctx, os.Args[len(os.Args)-1], os.Getenv(contextVar))
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// suite runs a command of the suite. Its node is that of the package beside it, as it needs a recent one.
func suite(t *testing.T, args ...string) (string, error) {
	t.Helper()
	dir := os.Getenv("JETCLAW_PEERS")
	if dir == "" {
		t.Fatal("JETCLAW_PEERS is not set: run these tests by `just test-mcp-peers`")
	}
	modules := filepath.Join(dir, "mcp", "node_modules")
	program := filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js") // .bin may have another version of it
	c := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "node"), append([]string{program}, args...)...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := c.CombinedOutput()
	return string(out), err
}

var scenarioLine = regexp.MustCompile(`(?m)^  - (\S+)`)

// TestPeersConformance runs one scenario after the other: the suite runs them all at once, and then some fail for want of time.
func TestPeersConformance(t *testing.T) {
	list, err := suite(t, "list", "--client")
	if err != nil {
		t.Fatalf("%v\n%s", err, list)
	}
	scenarios := scenarioLine.FindAllStringSubmatch(list, -1)
	if len(scenarios) < 20 {
		t.Fatalf("the suite lists %d scenarios:\n%s", len(scenarios), list)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	accepted := acceptedScenarios(t)
	for _, s := range scenarios {
		t.Run(s[1], func(t *testing.T) {
			out, err := suite(t, "client", "--command", self, "--scenario", s[1], "--timeout", fmt.Sprint(scenarioTime.Milliseconds()))
			switch ok := accepted[s[1]]; {
			case err != nil && !ok:
				t.Errorf("%v\n%s", err, strings.TrimSpace(out))
			case err == nil && ok:
				t.Errorf("it passes: take it out of testdata/accepted.yml")
			}
			delete(accepted, s[1])
		})
	}
	for name := range accepted {
		t.Errorf("testdata/accepted.yml has %s, which is no scenario of the suite", name)
	}
}

// acceptedScenarios reads the file, which has the form of the suite's own baselines. It is not given to the suite: with a baseline,
// that does not look at how the client ended.
func acceptedScenarios(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/accepted.yml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range scenarioLine.FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = true
	}
	return out
}
