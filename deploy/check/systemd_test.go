package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exposed is how exposed a unit may be, of 10, by systemd-analyze security: what is left is that it talks to networks.
const exposed = 1.5

// unitFolder holds the units as they are installed, a template as instances of it, with the binary where this check has it.
func unitFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join(deployDir, "systemd")
	put := func(name, as string) {
		writeFile(t, filepath.Join(dir, as), strings.ReplaceAll(readFile(t, filepath.Join(from, name)), "/usr/local/bin/jetclaw", jetclaw(t)))
	}
	put("jetclaw.service", "jetclaw.service")
	put("jetclaw@.service", "jetclaw@.service")
	for _, target := range targets {
		put("jetclaw@.service", "jetclaw@"+target+".service")
	}
	return dir
}

func TestUnitsAreVerified(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	dir := unitFolder(t)
	units := []string{"jetclaw.service", "jetclaw@turns.service", "jetclaw@intake.service"}
	// With a drop-in: each of those that are offered.
	drops := map[string]string{
		"exec-namespaces.conf": "jetclaw.service", "mcp-programs.conf": "jetclaw.service", "intake.conf": "jetclaw@intake.service",
		"approvals.conf": "jetclaw@approvals.service", "builtin.conf": "jetclaw@builtin.service", "mcp.conf": "jetclaw@mcp.service",
	}
	files, err := filepath.Glob(filepath.Join(deployDir, "systemd", "*.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if name == "sysusers.conf" {
			continue
		}
		unit, ok := drops[name]
		if !ok {
			t.Errorf("%s is a drop-in of nothing that is known here", name)
			continue
		}
		if !slices.Contains(units, unit) {
			units = append(units, unit)
		}
		if err := os.MkdirAll(filepath.Join(dir, unit+".d"), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, unit+".d", name), readFile(t, f))
	}
	for _, unit := range units {
		c := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, unit))
		out, err := c.CombinedOutput()
		if err != nil || strings.Contains(string(out), dir) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

var level = regexp.MustCompile(`Overall exposure level for .*: ([0-9.]+)`)

func TestUnitsAreHardened(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	dir := unitFolder(t)
	for _, unit := range []string{"jetclaw.service", "jetclaw@turns.service"} {
		c := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+strconv.Itoa(int(exposed*10)), filepath.Join(dir, unit))
		out, err := c.CombinedOutput()
		m := level.FindSubmatch(out)
		if err != nil || m == nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
			continue
		}
		if v, err := strconv.ParseFloat(string(m[1]), 64); err != nil || v > exposed {
			t.Errorf("%s: exposed by %s, at most %.1f", unit, m[1], exposed)
		}
		t.Logf("%s: exposed by %s of 10", unit, m[1])
	}
}

// TestUnitsSay is what verify does not look at: when it is not started again, and that it may drain.
func TestUnitsSay(t *testing.T) {
	for _, name := range []string{"jetclaw.service", "jetclaw@.service"} {
		text := readFile(t, filepath.Join(deployDir, "systemd", name))
		for _, line := range []string{"Type=notify", "Restart=on-failure", "RestartPreventExitStatus=2 10 11 12", "NoNewPrivileges=yes", "ProtectSystem=strict", "User=jetclaw"} {
			if !slices.Contains(strings.Split(text, "\n"), line) {
				t.Errorf("%s does not say %s", name, line)
			}
		}
		_, rest, _ := strings.Cut(text, "TimeoutStopSec=")
		seconds, _, _ := strings.Cut(rest, "\n")
		if n, err := strconv.Atoi(seconds); err != nil || float64(n) <= drains.Seconds() {
			t.Errorf("%s: ends it after %q seconds", name, seconds)
		}
	}
}
