package gate

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

const (
	maxPrompt = 1 << 20 // bytes of a prompt file that are read; more than any prompt shows
	maxSkills = 256     // folders of skills that are looked at, as many as the prompt's builder does
	maxCached = 4096
	// settled is how old a change has to be before its time is proof that there was none since: clocks of file systems tick.
	settled = 2 * time.Second
)

// prompts reads the files that prompts begin with, and reads them again only when they have changed. It may be used by many
// goroutines at once.
type prompts struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[string]content // by path; guarded by mu
}

// content is one file as it was read last.
type content struct {
	info    fs.FileInfo // nil: look again
	state   string      // digest of it, or what was found instead
	private bool        // it says something about the person, or nobody can tell
}

func newPrompts() *prompts { return &prompts{now: time.Now, seen: map[string]content{}} }

// private says whether every prompt of an agent holds private data: USER.md or MEMORY.md say more than their templates. What
// is there and cannot be read counts as private.
func (p *prompts) private(workspace string) bool {
	if workspace == "" {
		return false
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = root.Close() }()
	return slices.ContainsFunc(toolv1.PrivateFiles, func(name string) bool { return p.file(root, workspace, name).private })
}

// digest changes with the content of every file that prompts begin with.
func (p *prompts) digest(workspace string) string {
	if workspace == "" {
		return ""
	}
	root, err := os.OpenRoot(workspace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "none"
	case err != nil:
		return "closed"
	}
	defer func() { _ = root.Close() }()
	h := sha256.New()
	for _, name := range append(slices.Clone(toolv1.PromptFiles), skills(root)...) {
		put(h, name, p.file(root, workspace, name).state)
	}
	return string(h.Sum(nil))
}

// skills are the files of skills, which prompts list.
func skills(root *os.Root) []string {
	dir, err := root.Open("skills")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	names = names[:min(len(names), maxSkills)]
	for i, n := range names {
		names[i] = path.Join("skills", n, "SKILL.md")
	}
	return names
}

func (p *prompts) file(root *os.Root, workspace, name string) content {
	key := workspace + "\x00" + name
	info, err := root.Stat(name)
	p.mu.Lock()
	old, ok := p.seen[key]
	p.mu.Unlock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{state: "none"}
	case err != nil:
		return content{state: "unreadable", private: true}
	case ok && same(old.info, info):
		return old
	case !info.Mode().IsRegular():
		return content{state: "irregular", private: true}
	}
	next := readFile(root, name)
	if next.info != nil && p.now().Sub(next.info.ModTime()) <= settled {
		next.info = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) >= maxCached {
		clear(p.seen)
	}
	p.seen[key] = next
	return next
}

func same(a, b fs.FileInfo) bool {
	return a != nil && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode() && os.SameFile(a, b)
}

func readFile(root *os.Root, name string) content {
	broken := content{state: "unreadable", private: true}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return broken
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return broken
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPrompt))
	if err != nil {
		return broken
	}
	sum := sha256.Sum256(text)
	return content{info: info, state: string(sum[:]) + sized(info.Size()), private: personal(string(text))}
}

// template are the lines of the files that a new workspace begins with. They say nothing about anybody.
var template = lines(`Nothing is known yet. Write down here what should always be remembered about the person:
- Name, and how to address them:
- Time zone and language:
- What they do, and what they care about:
Facts and decisions that have to outlive a conversation, one a line, with the date. Keep it short: only the beginning of a long file
is shown.`)

func lines(text string) map[string]bool {
	set := map[string]bool{}
	for l := range strings.SplitSeq(text, "\n") {
		set[strings.TrimSpace(l)] = true
	}
	return set
}

// personal says whether a text has a line that is no heading, no comment and not of the template.
func personal(text string) bool {
	text = strings.TrimPrefix(text, "\uFEFF")
	var said strings.Builder
	for text != "" {
		before, rest, opened := strings.Cut(text, "<!--")
		said.WriteString(before + "\n")
		if !opened {
			break
		}
		_, after, closed := strings.Cut(rest, "-->")
		if !closed {
			return true
		}
		text = after
	}
	for l := range strings.SplitSeq(said.String(), "\n") {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "#") && !template[l] {
			return true
		}
	}
	return false
}
