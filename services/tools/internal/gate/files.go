package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// maxBound is the largest file whose content a decision can be bound to.
const maxBound = 16 << 20

// place is a path that a call names, as seen from the workspace.
type place struct {
	clean    string // relative to the workspace, with slashes; an absolute path when it is outside
	resolved string // the same after links; "" when it leads outside
	inside   bool
}

// locate reads a path as an executor does: relative to the workspace, or absolute.
func locate(workspace, name string) place {
	name = strings.ReplaceAll(name, "\x00", "\uFFFD")
	if workspace == "" {
		return place{clean: path.Clean(filepath.ToSlash(name))}
	}
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(workspace, name)
	}
	full = filepath.Clean(full)
	rel, err := filepath.Rel(workspace, full)
	if err != nil || !filepath.IsLocal(rel) && rel != "." {
		return place{clean: filepath.ToSlash(full)}
	}
	p := place{clean: filepath.ToSlash(rel), inside: true}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		p.resolved = p.clean // there is no workspace yet, nor links in it
		return p
	}
	if to, err := filepath.Rel(root, follow(filepath.Join(root, rel))); err == nil && (filepath.IsLocal(to) || to == ".") {
		p.resolved = filepath.ToSlash(to)
	}
	return p
}

// follow resolves the links in a path, as far as it exists.
func follow(full string) string {
	rest := ""
	for at := full; ; {
		if end, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(end, rest)
		}
		if to, err := os.Readlink(at); err == nil { // a link to what is not there yet: writing makes it
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			if dir, err := filepath.EvalSymlinks(filepath.Dir(to)); err == nil {
				return filepath.Join(dir, filepath.Base(to), rest)
			}
			return filepath.Join(to, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return full
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}

// prompts says whether whoever changes the place changes prompts: a prompt file, the folder of skills, or the workspace as a
// whole; by whatever name, also through links.
func (p place) prompts(workspace string) bool {
	for _, name := range []string{p.clean, p.resolved} {
		if p.inside && (toolv1.IsPromptFile(name) || strings.EqualFold(name, "skills") || name == ".") {
			return true
		}
	}
	if workspace == "" {
		return false
	}
	full := p.clean
	if p.inside {
		full = filepath.Join(workspace, filepath.FromSlash(p.clean))
	}
	info, err := os.Stat(full)
	if err != nil {
		return false
	}
	for _, name := range toolv1.PromptFiles {
		if other, err := os.Stat(filepath.Join(workspace, name)); err == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// bind is the files that a call would write, as they are now. What leads out of the workspace is left to the executor, which
// refuses it.
func (c *subject) bind() ([]callv1.File, error) {
	if !c.tool.Writes || c.workspace == "" || len(c.places) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(c.workspace)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the workspace cannot be opened")
	}
	if root != nil {
		defer func() { _ = root.Close() }()
	}
	var files []callv1.File
	seen := map[string]bool{}
	for _, p := range c.places {
		if !p.inside || seen[p.clean] {
			continue
		}
		seen[p.clean] = true
		f := callv1.File{Path: p.clean}
		if root != nil {
			if f.Digest, err = digest(root, p.clean); err != nil {
				return nil, fmt.Errorf("%s %w", p.clean, err)
			}
		}
		files = append(files, f)
	}
	return files, nil
}

var (
	errSize      = errors.New("is too large to be bound to a decision: at most 16 MiB")
	errIrregular = errors.New("is no regular file")
	errUnread    = errors.New("cannot be read, so that a decision about it cannot be bound to its content")
)

// digest is the SHA-256 of a file; "" when there is none, or a folder, or a link that leads out.
func digest(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, fs.ErrPermission):
		return "", errUnread
	case err != nil: // a link that leads out, a file where a folder is expected: the executor opens it the same way, and fails
		return "", nil
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", errUnread
	case info.IsDir():
		return "", nil
	case !info.Mode().IsRegular():
		return "", errIrregular
	case info.Size() > maxBound:
		return "", errSize
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxBound+1))
	switch {
	case err != nil:
		return "", errUnread
	case n > maxBound:
		return "", errSize
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
