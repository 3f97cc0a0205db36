package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// space is the workspace of one call.
type space struct {
	*kit
	call tool.Call
	root *os.Root
}

var (
	errOutside = errors.New("leads outside of the workspace")
	errSpecial = errors.New("is neither a file nor a folder")
	errFolder  = errors.New("is a folder")
	errNoDir   = errors.New("is not a folder")
	errLinks   = errors.New("leads through too many links")
	errChanged = errors.New("was changed by somebody else in this moment; look at it again")
)

// open opens the workspace. Its errors do not say where it is: the model has no use for that.
func (k *kit) open(c tool.Call) (*space, error) {
	if c.Workspace == "" {
		return nil, tool.Refuse("this agent has no workspace, so there are no files")
	}
	root, err := os.OpenRoot(c.Workspace)
	if err != nil {
		return nil, tool.Refuse("the workspace cannot be opened: %s", bare(err))
	}
	return &space{kit: k, call: c, root: root}, nil
}

func (s *space) close() { _ = s.root.Close() }

// name is the path that an argument means: from the workspace, cleaned, with slashes.
func (s *space) name(arg string) (string, error) {
	switch {
	case arg == "":
		return "", tool.Refuse("the path is empty")
	case strings.ContainsRune(arg, 0):
		return "", tool.Refuse("a path cannot hold a NUL character")
	case arg == "~" || strings.HasPrefix(arg, "~/"):
		return "", tool.Refuse("%s is no path here: paths begin in the workspace", show(arg))
	case filepath.IsAbs(arg):
		inside, ok := s.inside(arg)
		if !ok {
			return "", tool.Refuse("this absolute path is outside of the workspace; paths begin in it, without a slash in front")
		}
		arg = inside
	}
	name := path.Clean(filepath.ToSlash(arg))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", tool.Refuse("%s %v", show(arg), errOutside)
	}
	return name, nil
}

// inside is the path of an absolute one from the workspace. The workspace may be known by two names.
func (s *space) inside(abs string) (string, bool) {
	dirs := []string{s.call.Workspace}
	if dir, err := filepath.EvalSymlinks(s.call.Workspace); err == nil {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// find walks to what an argument names. An error is one that the model may be told.
func (s *space) find(arg string) (*place, error) {
	name, err := s.name(arg)
	if err != nil {
		return nil, err
	}
	p, err := s.walk(name)
	if err != nil {
		return nil, explain(name, err)
	}
	return p, nil
}

// existing is find for what has to be there.
func (s *space) existing(arg string) (*place, error) {
	p, err := s.find(arg)
	if err == nil && p.info == nil {
		err = explain(p.asked, fs.ErrNotExist)
		p.close()
		return nil, err
	}
	return p, err
}

// explain is what is wrong with a path, in words for a model. It never tells a path of the host.
func explain(name string, err error) error {
	name = show(name)
	switch {
	case err == nil, tool.IsRefusal(err):
		return err
	case errors.Is(err, errOutside), errors.Is(err, errSpecial), errors.Is(err, errLinks), errors.Is(err, errChanged):
		return tool.Refuse("%s %s", name, bare(err))
	case errors.Is(err, errFolder), errors.Is(err, errNoDir):
		return &failure{name + " " + bare(err), err}
	case errors.Is(err, fs.ErrNotExist):
		return &failure{name + " does not exist", err}
	case errors.Is(err, fs.ErrPermission):
		return &failure{name + ": permission denied", err}
	case errors.Is(err, syscall.ENOTDIR):
		return &failure{name + ": a folder of this path is a file", err}
	}
	return &failure{name + ": " + bare(err), err}
}

// failure is an error with words of its own.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// bare is the text of an error without the paths that the system puts around it.
func bare(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
