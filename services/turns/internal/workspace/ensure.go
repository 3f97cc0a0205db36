package workspace

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed defaults
var defaults embed.FS

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Ensure makes the workspace when there is no folder dir: with all default files or, when it dies, not at all. A folder
// that is there is left as it is, so that what a person has changed or deleted stays so.
func Ensure(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return fmt.Errorf("workspace %s: not a folder", dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for workspace: %w", err)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, dirMode); err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	draft, err := os.MkdirTemp(parent, ".workspace-*") // 0700
	if err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	defer os.RemoveAll(draft)
	if err := fill(draft); err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	if err := os.Rename(draft, dir); err != nil {
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
			return nil // somebody else was faster
		}
		return fmt.Errorf("create workspace: %w", err)
	}
	return nil
}

// fill writes the defaults into dir.
func fill(dir string) error {
	files, err := fs.Sub(defaults, "defaults")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(path))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(to, dirMode)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return through(to, text)
	})
}

// through writes a file and does not come back before it is on the disk: one that is empty after a power failure would pass for what a
// person wants, for ever.
func through(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
