package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

func TestNoWorkspaceHoldsTheHome(t *testing.T) {
	e := newEnv(t)
	dir := e.Home.Dir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for workspace, fine := range map[string]bool{
		"workspace": true, filepath.Join(dir, "workspace"): true, t.TempDir(): true, dir + "x": true,
		dir: false, filepath.Dir(dir): false, "/": false, link: false, filepath.Join(dir, "keys"): false,
		filepath.Join(dir, "data", "x"): false, filepath.Join(link, "run"): false,
	} {
		a := e.Config.Agent(config.MainAgent)
		a.Workspace = workspace
		e.Config.Agents = map[string]config.Agent{config.MainAgent: a}
		if err := e.apart(); (err == nil) != fine {
			t.Errorf("%s: %v", workspace, err)
		}
	}
}
