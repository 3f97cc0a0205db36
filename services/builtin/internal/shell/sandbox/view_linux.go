package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// view is what of the system a command may see.
type view struct {
	read  []string    // files and whole folders that can be read and executed
	links [][2]string // links among them and where they lead: a root that is made anew needs them
}

// systems are the folders that hold a system, and how deep each is looked through for what only some may read. Programs and
// libraries are for all; settings are not.
var systems = []struct { //nolint:gochecknoglobals // a constant
	path string
	deep int
}{
	{"/usr", 0},
	{"/bin", 0},
	{"/sbin", 0},
	{"/lib", 0},
	{"/lib32", 0},
	{"/lib64", 0},
	{"/libx32", 0},
	{"/nix/store", 0},
	{"/run/current-system", 0},
	{"/etc", 16},
	{"/opt", 2},
}

// devices can be read and written.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} //nolint:gochecknoglobals // a constant

// look finds out what may be seen when hidden, whose paths are real, may not.
func look(hidden []string) view {
	var v view
	for _, s := range systems {
		got, _ := tree(s.path, s.deep, hidden)
		v.read, v.links = append(v.read, got.read...), append(v.links, got.links...)
	}
	return v
}

// tree looks at one path. When all of it may be seen, whole is true and the view is this one path.
func tree(path string, deep int, hidden []string) (v view, whole bool) {
	if slices.ContainsFunc(hidden, func(h string) bool { return within(path, h) }) {
		return view{}, false
	}
	info, err := os.Lstat(path)
	if err != nil {
		return view{}, false
	}
	all := view{read: []string{path}}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return view{links: [][2]string{{path, to}}}, err == nil
	case mode.IsRegular():
		if mode.Perm()&0o004 == 0 {
			return view{}, false
		}
		return all, true
	case !mode.IsDir(), mode.Perm()&0o005 != 0o005:
		return view{}, false
	}
	// What is hidden need not be there yet: the folder that it will be in is never whole.
	whole = !slices.ContainsFunc(hidden, func(h string) bool { return within(h, path) })
	if whole && deep == 0 {
		return all, true
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return view{}, false
	}
	for _, e := range entries {
		part, complete := tree(filepath.Join(path, e.Name()), max(deep-1, 0), hidden)
		v.read, v.links, whole = append(v.read, part.read...), append(v.links, part.links...), whole && complete
	}
	if whole {
		return all, true
	}
	return v, false
}

// unlinked is a path without links, as far as it exists.
func unlinked(path string) string {
	path = filepath.Clean(path)
	if got, err := filepath.EvalSymlinks(path); err == nil {
		return got
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(unlinked(dir), filepath.Base(path))
	}
	return path
}
