package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// TestToolsOfServers: a pause that is not over is shown with each tool, and what a server says of itself stays in its line.
func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	tool := func(name string) []toolv1.Tool {
		return []toolv1.Tool{{Name: name, Description: "Reads\x1b[2J a file.\nMuch more.", Level: toolv1.L2, Egress: toolv1.Chosen, Untrusted: true}}
	}
	list := toolsOf([]toolv1.Catalogue{
		{Executor: "mcp-files", Tools: tool("files__read"), Paused: &toolv1.Paused{Until: now.Add(90 * time.Second), Reason: "x"}},
		{Executor: "mcp-web", Tools: tool("web__get"), Paused: &toolv1.Paused{Until: now}},
	}, now)
	var out bytes.Buffer
	if err := (&shell{out: &out}).showTools(list); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], " mcp-files, paused until 09:01:30Z ") || strings.Contains(lines[2], "paused") || strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("%q", lines)
	}
	raw, err := json.Marshal(toolList{list})
	if want := `"paused_until":"2026-12-01T09:01:30Z"`; err != nil || strings.Count(string(raw), "paused_until") != 1 || !strings.Contains(string(raw), want) {
		t.Errorf("%s %v", raw, err)
	}
}
