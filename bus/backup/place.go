package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// place is where a backup is written: a folder beside the wanted one, which takes its name once it is complete.
type place struct {
	want string
	temp string // "" once it has its name
}

// newPlace refuses a folder that holds anything.
func newPlace(dir string) (*place, error) {
	want, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("back up to %s: %w", dir, err)
	}
	if err := free(want); err != nil {
		return nil, err
	}
	parent, name := filepath.Split(want)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("back up to %s: %w", want, err)
	}
	temp, err := os.MkdirTemp(parent, name+".partial-*") // 0700
	if err != nil {
		return nil, fmt.Errorf("back up to %s: %w", want, err)
	}
	return &place{want: want, temp: temp}, nil
}

// free says whether a folder may become a backup: it is not there, or empty.
func free(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("back up to %s: %w", dir, err)
	case len(entries) > 0:
		return fault.New(fault.Invalid, "%s is not empty: a backup goes into a folder that is empty or not there yet", dir)
	}
	return nil
}

// commit gives the folder its name: whoever finds it under that name finds all of it, also after a power failure.
func (p *place) commit() error {
	if err := syncDir(p.temp); err != nil {
		return err
	}
	if err := os.Remove(p.want); err != nil && !errors.Is(err, fs.ErrNotExist) { // it removes an empty folder only
		return fmt.Errorf("back up to %s: it is no longer empty, or may not be replaced: %w", p.want, err)
	}
	if err := os.Rename(p.temp, p.want); err != nil {
		return fmt.Errorf("back up to %s: %w", p.want, err)
	}
	p.temp = ""
	return syncDir(filepath.Dir(p.want))
}

// discard removes what did not get its name.
func (p *place) discard() error {
	if p.temp == "" {
		return nil
	}
	return os.RemoveAll(p.temp)
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// openFile opens a file of a backup to read it; what is no plain file is damage, and a pipe is not waited for.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%w: %s is no regular file", ErrDamaged, path), err, f.Close())
	}
	return f, nil
}
