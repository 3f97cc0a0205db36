// Package clock steps the wall clock of real processes. It builds a program with a standard library in which time.Now adds what a
// file says, so that everything in the process is stepped, the NATS server and all libraries too, while timers go on as they do when
// somebody sets the clock of a machine. Programs that are built as always have nothing of it.
//
// What it does not step: the times that the kernel gives files, and what other processes say.
package clock

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Env is the variable that names the file of a process's clock.
const Env = "LOADTEST_CLOCK"

// Clock is the clock of one or more processes, which have Environ in their environment.
type Clock struct{ path string }

// New makes a clock that goes right.
func New(path string) (Clock, error) {
	return Clock{path}, os.WriteFile(path, make([]byte, 8), 0o600)
}

// Environ is what a process of this clock is given.
func (c Clock) Environ() string { return Env + "=" + c.path }

// Set has the clock differ from the right one, in whole seconds, at once. It is written in place: the processes have it mapped.
func (c Clock) Set(ahead time.Duration) error {
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))), 0)
	return errors.Join(err, f.Close())
}

// Build compiles a package of this module with such a library; the first time that takes as long as building everything anew.
func Build(ctx context.Context, dir, pkg string) (string, error) {
	env, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	goroot, mod, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	overlay, err := overlayOf(goroot, dir)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, filepath.Base(pkg)+"-stepped")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-trimpath", "-ldflags", "-s -w", "-o", bin, pkg)
	cmd.Dir = filepath.Dir(mod)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s with a clock that can be stepped: %w\n%s", pkg, err, out)
	}
	return bin, nil
}

const (
	reads = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {" // in time.Now
	adds  = "\tsec, nsec, mono := runtimeNow()\n\tsec += ahead()\n\tif mono == 0 {"
)

const stepFile = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var step = mapped()

func ahead() int64 { return atomic.LoadInt64(step) }

func mapped() *int64 {
	path, ok := syscall.Getenv("` + Env + `")
	if !ok {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("` + Env + `: " + err.Error())
	}
	b, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("` + Env + `: " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&b[0]))
}
`

// overlayOf writes what is to be compiled in the place of the library's files.
func overlayOf(goroot, dir string) (string, error) {
	name := filepath.Join(goroot, "src", "time", "time.go")
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), reads) != 1 {
		return "", fmt.Errorf("%s is not as it was when this was written: time.Now does not begin with %q", name, reads)
	}
	files := map[string]string{name: strings.Replace(string(text), reads, adds, 1), filepath.Join(filepath.Dir(name), "ahead.go"): stepFile}
	replace := map[string]string{}
	for at, text := range files {
		to := filepath.Join(dir, "stepped-"+filepath.Base(at))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[at] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "overlay.json")
	return out, os.WriteFile(out, b, 0o600)
}
