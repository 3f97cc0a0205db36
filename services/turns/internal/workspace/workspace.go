package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
)

// names are the files that a model is always shown, in this order.
var names = [...]string{"AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "MEMORY.md"}

const (
	maxFile  = 20 << 10 // bytes of a file that are shown
	maxFiles = 60 << 10 // bytes of all files together

	// interval is how often the disk is looked at, at most.
	interval = 500 * time.Millisecond
)

// Workspace reads the files and skills of one folder. It may be used by many goroutines at once.
type Workspace struct {
	dir string
	now func() time.Time
	// redact takes secrets out of texts; a person may have written one into a file, and no model is to see it.
	redact func(string) string

	mu      sync.Mutex // guards what follows; held while the disk is read
	checked time.Time  // zero: never
	docs    [len(names)]entry
	folders folders

	// What Load gives. The slices are replaced, never written to, when something has changed.
	files    []prompt.File
	skills   []prompt.Skill
	problems []Problem
	paths    map[string]string // of skills, by name
}

// Problem is something in the workspace that is not shown to the model, or not all of it.
type Problem struct {
	Path string // below the workspace
	Line int    // 0: the file as a whole
	Text string
}

func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
	}
	return fmt.Sprintf("%s: %s", p.Path, p.Text)
}

// Open is the workspace in folder dir, which must exist (see Ensure). It holds no handles, so it needs no closing. The
// secrets, and what looks like one, are taken out of all that it gives.
func Open(dir string, secrets ...string) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open workspace: %s is not a folder", abs)
	}
	w := &Workspace{dir: abs, now: time.Now, redact: secret.Compile(secrets).Redact}
	for i, name := range names {
		w.docs[i].path = name
	}
	return w, nil
}

// Load gives the files and skills as they are now, or were half a second ago, and what is wrong with the others. It never
// fails: what cannot be read is a problem, and the rest is given. What it returns must not be written to.
func (w *Workspace) Load() ([]prompt.File, []prompt.Skill, []Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh()
	return w.files, w.skills, w.problems
}

// Skill is the whole text of the skill of that name, cut visibly when it is very long.
func (w *Workspace) Skill(name string) (string, error) {
	w.mu.Lock()
	w.refresh()
	path, ok := w.paths[name]
	have := w.skills
	w.mu.Unlock()
	if !ok {
		return "", missing(name, have)
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return "", fmt.Errorf("read skill %s: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	text, left, err := read(root, path, maxSkill)
	if err != nil {
		return "", fmt.Errorf("read skill %s: %w", name, err)
	}
	text = w.redact(text)
	if left > 0 {
		text += fmt.Sprintf("\n[cut: the last %d bytes of this skill are left out]\n", left)
	}
	return text, nil
}

// refresh looks at the disk unless it has done so a moment ago.
func (w *Workspace) refresh() {
	now := w.now()
	if since := now.Sub(w.checked); !w.checked.IsZero() && since >= 0 && since < interval {
		return
	}
	first := w.checked.IsZero()
	w.checked = now
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		w.files, w.skills, w.paths = nil, nil, nil
		w.problems = []Problem{{Path: ".", Text: reason(err)}}
		w.checked, w.folders = time.Time{}, folders{} // everything is new when it comes back
		for i, name := range names {
			w.docs[i] = entry{path: name}
		}
		return
	}
	defer func() { _ = root.Close() }()
	changed := w.folders.refresh(root, now)
	for i := range w.docs {
		if w.docs[i].refresh(root, now, maxFile) {
			changed = true
		}
	}
	if changed || first {
		w.compose()
	}
}

// compose makes what Load gives out of what was read.
func (w *Workspace) compose() {
	w.files, w.problems = nil, nil
	room := maxFiles
	for _, e := range w.docs {
		if e.problem != "" {
			w.problems = append(w.problems, Problem{Path: e.path, Text: e.problem})
		}
		if e.text == "" && e.left == 0 {
			continue
		}
		text, left := cut(e.text, room)
		left += e.left
		room -= len(text)
		if left > 0 {
			w.problems = append(w.problems, Problem{Path: e.path, Text: fmt.Sprintf(
				"only the first %d bytes are shown to the model, %d are left out (at most %d a file, %d all together)", len(text), left, maxFile, maxFiles)})
		}
		w.files = append(w.files, prompt.File{Name: e.path, Text: w.redact(text), Cut: left})
	}
	var wrong []Problem
	w.skills, w.paths, wrong = w.folders.compose()
	for i := range w.skills { // made just now
		w.skills[i].Description = w.redact(w.skills[i].Description)
	}
	w.problems = slices.Concat(w.problems, wrong)
}

// reason is what is wrong, without the path: a Problem has its own.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return err.Error()
}
