package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
)

// guarded is a file or folder that is its owner's alone.
type guarded struct {
	path     string
	severity health.Severity // when others have rights to it
	why      string
}

// modeEvidence is what a finding about rights shows.
type modeEvidence struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Want string `json:"want"`
}

// files looks at who else can read the home. With --repair rights are taken away.
func (x *examination) files() {
	if runtime.GOOS == "windows" {
		return // rights are not in the mode there
	}
	h := x.e.Home
	wrong := 0
	list := []guarded{
		{h.Keys(), health.Problem, "who reads the keys can do all that you can"},
		{h.Data(), health.Problem, "all conversations lie there"},
		{filepath.Join(h.Dir(), "run"), health.Problem, "it says where the daemon is"},
		{filepath.Join(h.Dir(), "run", "endpoint.json"), health.Problem, "it says where the daemon is"},
		{h.Dir(), health.Warning, "what is in it can be listed"},
	}
	keys, err := os.ReadDir(h.Keys())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.report.Unknown("file", health.Warning, "files", "", err)
	}
	for _, k := range keys {
		list = append(list, guarded{filepath.Join(h.Keys(), k.Name()), health.Problem, "who reads it can do all that you can"})
	}
	for _, p := range list {
		wrong += x.file(p)
	}
	if wrong == 0 {
		x.report.Sayf("file.ok", health.Fine, "files", "", "the home is its owner's alone")
	}
}

// file counts a file that is not its owner's alone.
func (x *examination) file(p guarded) int {
	st, err := os.Lstat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case err != nil:
		x.report.Unknown("file", health.Warning, "files", "", err)
		return 1
	case st.Mode().Type() != 0 && !st.IsDir() || st.Mode().Perm()&0o077 == 0: // a link's own mode says nothing
		return 0
	}
	want := st.Mode().Perm() & 0o700
	f := health.Finding{
		ID: "file.mode", Severity: p.severity, Check: "files",
		Text:     fmt.Sprintf("others have rights to %s (mode %04o): %s", p.path, st.Mode().Perm(), p.why),
		Evidence: modeEvidence{p.path, fmt.Sprintf("%04o", st.Mode().Perm()), fmt.Sprintf("%04o", want)},
		Fix:      fmt.Sprintf("jetclaw doctor --repair, or: chmod go= %s", p.path),
	}
	if x.o.repair {
		if err := os.Chmod(p.path, want); err == nil {
			f.ID, f.Severity, f.Fix = "file.repaired", health.Fine, ""
			f.Text = fmt.Sprintf("others had rights to %s (mode %04o); it is %04o now", p.path, st.Mode().Perm(), want)
		} else {
			f.Fix = err.Error()
		}
	}
	x.report.Add(f)
	return 1
}
