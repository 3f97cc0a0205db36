package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Mode says which walls are wanted.
type Mode string

// The modes.
const (
	Auto     Mode = "auto"     // bwrap if it works, else landlock
	Bwrap    Mode = "bwrap"    // the kind bwrap
	Landlock Mode = "landlock" // the kind own, else bare
	None     Mode = "none"     // no sandbox
)

// Options of a Box.
type Options struct {
	Mode Mode // "" is Auto
	// Hidden are absolute paths that must not be seen, wherever they lie. They need not exist yet.
	Hidden []string
	// Self starts this binary so that it calls Main: {"/proc/self/exe", "sandbox-exec"}. It is only needed on Linux.
	Self []string
}

// Command is what is to be run.
type Command struct {
	Text string   // for /bin/sh -c
	Dir  string   // where it runs and what it may write, absolute
	Env  []string // all of its environment ("NAME=value"), to which TMPDIR is added
}

// Status is how a command ended.
type Status struct {
	Code   int    // what it exited with
	Signal string // "SIGKILL": what killed it, unless it exited
	Ended  bool   // the context was over first
}

// Errors of Run. After any but ErrUnknown nothing has been run.
var (
	// ErrPlace says that a command cannot run where it was to run.
	ErrPlace = errors.New("the folder holds what commands must not see")
	// ErrUnknown says that the keeper is gone, and so are the processes of the command, but not how they ended.
	ErrUnknown = errors.New("nobody knows how the command ended")
)

func (o Options) validate() error {
	for _, h := range o.Hidden {
		if !filepath.IsAbs(h) || filepath.Clean(h) == "/" {
			return fmt.Errorf("cannot hide %q: not an absolute path below the root", h)
		}
	}
	switch o.Mode {
	case "", Auto, Bwrap, Landlock, None:
		return nil
	}
	return fmt.Errorf("unknown sandbox %q: auto, bwrap, landlock or none", string(o.Mode))
}

// unavailable is the error of a sandbox that cannot be had.
func unavailable(why error) error {
	return fmt.Errorf("no sandbox can be had here (%w). Install bubblewrap, or allow user namespaces, or use Linux 6.12 or newer "+
		"with Landlock. Or set tools.exec.sandbox: none; commands then run with all rights of this process, can read its keys, "+
		"and reach the network", why)
}

// within says whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
