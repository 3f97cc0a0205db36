package natsembed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// What can be wrong with the place where the server keeps or offers its data.
var (
	ErrStore  = errors.New("the store cannot be used")
	ErrLocked = errors.New("the store is in use")
	ErrPort   = errors.New("the port is taken")
)

// lockStore makes the directory, checks that it can be written, and takes it for this process. Two servers on one
// store would destroy it.
func lockStore(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	path := filepath.Join(dir, "lock")
	l := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%w: lock it (is %s writable, and on a local disk?): %w", ErrStore, dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s is held by %s", ErrLocked, dir, holder(path))
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrStore, err), l.Unlock())
	}
	return l, nil
}

// holder names the process that wrote its id into the lock file.
func holder(path string) string {
	b, err := os.ReadFile(path)
	pid, perr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || perr != nil {
		return "another process"
	}
	return "process " + processName(pid)
}
