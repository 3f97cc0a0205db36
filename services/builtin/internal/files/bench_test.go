package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const outsideText = "this is not in the workspace"

// bench is a workspace on disk, with a folder beside it that no tool may see.
type bench struct {
	t         testing.TB
	top, dir  string // dir is the workspace, top/outside is not
	kit       *kit
	allowed   bool
	decided   []callv1.File
	unguarded bool // the host's path may stand in results
}

// args are the arguments of a call.
type args map[string]any

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, top: top, dir: filepath.Join(top, "ws"), kit: newKit(Options{
		Private: []string{"diary", "keep/secret.txt"},
		Now:     func() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) },
	})}
	b.mkdir(".")
	b.put("../outside/secret.txt", outsideText)
	for name, text := range files {
		b.put(name, text)
	}
	return b
}

func (b *bench) at(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) mkdir(name string) {
	b.t.Helper()
	b.must(os.MkdirAll(b.at(name), 0o700))
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.at(name)), 0o700))
	b.must(os.WriteFile(b.at(name), []byte(text), 0o600))
}

func (b *bench) link(name, target string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.at(name)), 0o700))
	b.must(os.Symlink(target, b.at(name)))
}

func (b *bench) hardlink(name, old string) {
	b.t.Helper()
	b.must(os.Link(b.at(old), b.at(name)))
}

// has says what a file holds, or "(none)".
func (b *bench) has(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.at(name))
	if os.IsNotExist(err) {
		return "(none)"
	}
	b.must(err)
	return string(data)
}

func (b *bench) wants(name, text string) {
	b.t.Helper()
	if got := b.has(name); got != text {
		b.t.Errorf("%s holds %q, want %q", name, got, text)
	}
}

// leftovers fails when a temporary file was left in a folder.
func (b *bench) leftovers(name string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.at(name))
	b.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".jetclaw-") {
			b.t.Errorf("%s was left in %s", e.Name(), name)
		}
	}
}

func (b *bench) call(name string, a args) (tool.Result, error) {
	b.t.Helper()
	return b.with(b.t.Context(), name, a)
}

func (b *bench) with(ctx context.Context, name string, a args) (tool.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(a)
	b.must(err)
	for _, k := range b.kit.tools() {
		if k.Name != name {
			continue
		}
		r, err := k.Run(ctx, tool.Call{Workspace: b.dir, Arguments: raw, Allowed: b.allowed, Files: b.decided})
		said := r.Text
		if err != nil {
			said += err.Error()
		}
		if strings.Contains(said, b.top) && !b.unguarded {
			b.t.Errorf("%s %s tells where the workspace is: %s", name, raw, said)
		}
		if strings.Contains(said, outsideText) {
			b.t.Errorf("%s %s tells what is outside: %s", name, raw, said)
		}
		if len(r.Text) > tool.MaxText {
			b.t.Errorf("%s gives %d bytes", name, len(r.Text))
		}
		return r, err
	}
	b.t.Fatalf("there is no tool %s", name)
	return tool.Result{}, nil
}

// ok is the result of a call that has to succeed.
func (b *bench) ok(name string, a args) tool.Result {
	b.t.Helper()
	r, err := b.call(name, a)
	if err != nil || r.Failed {
		b.t.Fatalf("%s %v: %v, %q", name, a, err, r.Text)
	}
	return r
}

// refused is a call that has to be refused with these words.
func (b *bench) refused(name string, a args, words string) {
	b.t.Helper()
	if r, err := b.call(name, a); !tool.IsRefusal(err) || !strings.Contains(err.Error(), words) {
		b.t.Errorf("%s %v: got %v, %q, want a refusal with %q", name, a, err, r.Text, words)
	}
}

// fails is a call that has to fail, whichever way, with these words.
func (b *bench) fails(name string, a args, words string) tool.Result {
	b.t.Helper()
	r, err := b.call(name, a)
	said := r.Text
	if err != nil {
		said = err.Error()
	}
	if (err == nil && !r.Failed) || !strings.Contains(said, words) {
		b.t.Errorf("%s %v: got %v, %q, want a failure with %q", name, a, err, r.Text, words)
	}
	return r
}
