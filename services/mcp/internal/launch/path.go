package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// What can be wrong with a command before it runs.
var (
	ErrNotFound      = errors.New("not found")
	ErrNotExecutable = errors.New("not executable")
)

// LookPath says which file Start would run, or why it would run none.
func LookPath(c Command) (string, error) {
	env, _ := environment(c, "")
	return look(c, env)
}

func look(c Command, env []string) (string, error) {
	if c.Path == "" || strings.ContainsRune(c.Path, 0) {
		return "", fmt.Errorf("command %q: %w: it names no program", c.Path, ErrNotFound)
	}
	dir, err := filepath.Abs(c.Dir) // "" is where we are
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Path, err)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: the folder %s does not exist", c.Path, dir)
	case err != nil:
		return "", fmt.Errorf("%s: the folder %s cannot be used: %w", c.Path, dir, reason(err))
	case !info.IsDir():
		return "", fmt.Errorf("%s: the folder %s is a file", c.Path, dir)
	}
	if strings.ContainsAny(c.Path, separators()) {
		path := c.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		found, err := program(path, env)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Path, err)
		}
		return found, nil
	}
	denied := ""
	for _, folder := range filepath.SplitList(value(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // "." would run whatever lies in the folder where somebody has started us
		}
		found, err := program(filepath.Join(folder, c.Path), env)
		if err == nil {
			return found, nil
		}
		if denied == "" && errors.Is(err, ErrNotExecutable) {
			denied = filepath.Join(folder, c.Path)
		}
	}
	if denied != "" {
		return "", fmt.Errorf("%s: %w (%s has no right to be run)", c.Path, ErrNotExecutable, denied)
	}
	return "", fmt.Errorf("%s: %w (looked in PATH)", c.Path, ErrNotFound)
}

// program is the file of this path that can be run. On Windows its extension may be left out.
func program(path string, env []string) (string, error) {
	tries := []string{path}
	if runtime.GOOS == "windows" {
		exts := value(env, "PATHEXT")
		if exts == "" {
			exts = ".com;.exe;.bat;.cmd"
		}
		if filepath.Ext(path) == "" {
			tries = nil // what has no extension is not run there
		}
		for ext := range strings.SplitSeq(exts, ";") {
			tries = append(tries, path+ext)
		}
	}
	err := ErrNotFound
	for _, try := range tries {
		info, statErr := os.Stat(try)
		switch {
		case errors.Is(statErr, fs.ErrNotExist):
		case statErr != nil:
			err = fmt.Errorf("%w: %w", ErrNotExecutable, reason(statErr))
		case info.IsDir():
			err = fmt.Errorf("%w: it is a folder", ErrNotExecutable)
		case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
			err = fmt.Errorf("%w: the file has no right to be run (chmod +x)", ErrNotExecutable)
		default:
			return try, nil
		}
	}
	return "", err
}

// environment is all that the program gets, sorted, and the names of the definition's variables that it does not.
func environment(c Command, mark string) (env, left []string) {
	set := map[string]string{}
	for _, entry := range c.Parent {
		if name, val, ok := strings.Cut(entry, "="); ok && definition.Inherited(name) {
			set[name] = val
		}
	}
	if filepath.IsAbs(c.Dir) {
		set["PWD"] = c.Dir
	}
	for name, val := range c.Env {
		if definition.Blocked(name) || strings.ContainsRune(val, 0) {
			left = append(left, name)
			continue
		}
		if runtime.GOOS == "windows" { // Path and PATH are one
			maps.DeleteFunc(set, func(other, _ string) bool { return strings.EqualFold(other, name) })
		}
		set[name] = val
	}
	set[markName] = mark
	for name, val := range set {
		env = append(env, name+"="+val)
	}
	slices.Sort(env)
	slices.Sort(left)
	return env, left
}

func value(env []string, name string) string {
	for _, entry := range env {
		n, val, _ := strings.Cut(entry, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return val
		}
	}
	return ""
}

func separators() string {
	if runtime.GOOS == "windows" {
		return `/\:`
	}
	return "/"
}

// reason is the error without the path, which stands in the sentence already.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
