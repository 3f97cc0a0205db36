package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Holder says which process has the home.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"` // "jetclaw run"
	Since   time.Time `json:"since"`
	// Serves is set by a daemon or a service, which goes on until it is stopped. A daemon writes an endpoint when it is ready.
	Serves bool `json:"serves,omitempty"`
}

// HeldError says that another process has the home.
type HeldError struct {
	Dir    string
	Holder Holder // zero when the other one has not said yet who it is
}

func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another process is using %s", e.Dir)
	}
	return fmt.Sprintf("process %d (%s) is using %s since %s", e.Holder.PID, e.Holder.Command, e.Dir,
		e.Holder.Since.Local().Format(time.DateTime))
}

// Lock is the home held by this process.
type Lock struct {
	home Home
	lock *flock.Flock
}

// Acquire takes the home for this process, or returns a *HeldError.
func (h Home) Acquire(who Holder) (*Lock, error) {
	lock, err := hold(h.dir, h.lock(), who)
	if err != nil {
		return nil, err
	}
	if err := h.removeEndpoint(); err != nil { // of one that was killed
		return nil, errors.Join(fmt.Errorf("lock %s: %w", h.lock(), err), lock.Close())
	}
	return &Lock{home: h, lock: lock}, nil
}

// AcquireIndex takes the index for this process, or returns a *HeldError: processes of conversations that share a home would write one
// file. Whoever has the home has not got that yet. release gives it free.
func (h Home) AcquireIndex(who Holder) (release func() error, err error) {
	if err := os.MkdirAll(h.Index(), 0o700); err != nil {
		return nil, err
	}
	lock, err := hold(h.Index(), filepath.Join(h.Index(), "lock"), who)
	if err != nil {
		return nil, err
	}
	return lock.Close, nil
}

// hold locks a file, for a folder, and writes into it who has it.
func hold(dir, path string, who Holder) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, &HeldError{Dir: dir, Holder: holderOf(path)}
	}
	data, err := json.Marshal(who)
	if err == nil {
		// In place, not by rename: the lock is on this very file.
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), lock.Close())
	}
	return lock, nil
}

// holderOf reads who says that it has a lock; zero when that cannot be read.
func holderOf(path string) (who Holder) {
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &who) != nil {
		return Holder{}
	}
	return who
}

// Release gives the home free.
func (l *Lock) Release() error {
	return errors.Join(l.home.removeEndpoint(), os.Truncate(l.home.lock(), 0), l.lock.Close())
}
