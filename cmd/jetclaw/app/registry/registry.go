// Package registry keeps the MCP servers in jetclaw.yaml.
//
// Load reads them. Edit changes them where they stand: all that is not below mcp.servers stays as it is, byte for byte, comments,
// order and line breaks included, and so do servers and settings that the change does not touch. Edits of several processes
// wait for one another. The file is replaced as a whole or not at all, and only after the new text has been read back and means
// what was wanted; a file that cannot be read is refused with its place.
//
//	lock FILE.lock → read, check → change a copy → splice → read back, compare → has nobody else written meanwhile? → rename
//
// Who dies before the rename leaves the old file, and at most a temporary one beside it.
package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	// patience is how long an edit waits for those of other processes, and how often it begins again when an editor has
	// written in between.
	patience = 15 * time.Second
	attempts = 5

	retry = 20 * time.Millisecond // of the lock
)

// ErrBusy says that another process keeps changing the file.
var ErrBusy = errors.New("another process is changing the file; try again")

// Load reads the servers of a configuration. Its errors are those of config.Load; a file that is missing has none.
func Load(file string) (map[string]definition.Definition, error) {
	c, _, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	return clone(c.MCP.Servers), nil
}

// Edit changes the servers of a configuration. change gets a copy, and an error of it ends the edit. The file is written when
// something has changed, and made when it is missing, for its owner alone.
func Edit(ctx context.Context, file string, change func(servers map[string]definition.Definition) error) error {
	target, err := follow(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("edit %s: %w", file, err)
	}
	lock := flock.New(target+".lock", flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
	defer cancel()
	if _, err := lock.TryLockContext(wait, retry); err != nil {
		if wait.Err() != nil {
			err = context.Cause(wait)
		}
		return fmt.Errorf("lock %s: %w", file, err)
	}
	defer lock.Close() //nolint:errcheck // the process has nothing more to do with it
	for range attempts {
		done, err := edit(file, target, change)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("edit %s: %w", file, ErrBusy)
}

// follow is the file that a name stands for: what links point to, even where there is nothing yet.
func follow(name string) (string, error) {
	for range 40 {
		st, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			return name, nil
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", errors.New("too many links")
}

// edit is one attempt; it is not done when somebody else has written the file meanwhile.
func edit(file, target string, change func(map[string]definition.Definition) error) (done bool, err error) {
	text, mode, err := config.Read(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text, mode = nil, 0o600
	case err != nil:
		return false, fmt.Errorf("read %s: %w", file, err)
	}
	before, _, err := config.Parse(file, text)
	if err != nil {
		return false, err
	}
	wanted := clone(before.MCP.Servers)
	if err := change(wanted); err != nil {
		return false, err
	}
	if equal(before.MCP.Servers, wanted) {
		return true, nil
	}
	if err := usable(wanted); err != nil {
		return false, err
	}
	written, err := rewritten(file, text, before, wanted)
	if err != nil {
		return false, fmt.Errorf("edit %s: %w", file, err)
	}
	return swap(target, text, written, mode)
}

// usable says what is wrong with servers before it is written down.
func usable(servers map[string]definition.Definition) error {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if err := definition.ValidName(name); err != nil {
			return fmt.Errorf("server %q: %w", name, err)
		}
		for _, i := range servers[name].Validate() {
			return fmt.Errorf("server %q: %s", name, i.Message)
		}
	}
	return nil
}

// rewritten is the text with other servers in it. It has been read back: they are those wanted, and nothing else is different.
func rewritten(file string, text []byte, before *config.Config, wanted map[string]definition.Definition) ([]byte, error) {
	old, will := sections(before.MCP.Servers), sections(wanted)
	var problem error
	for _, front := range []bool{false, true} { // behind a text without an end a new section would give it one
		written, err := edited(text, old, will, front)
		if err != nil {
			return nil, err
		}
		after, _, err := config.Parse(file, written)
		if err == nil {
			if equal(after.MCP.Servers, wanted) && sameRest(before, after) {
				return written, nil
			}
			err = errPlace
		}
		problem = err
	}
	return nil, problem
}

func sections(servers map[string]definition.Definition) object {
	all := object{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, entry{name, sectionOf(servers[name])})
	}
	return all
}

// sameRest says whether two configurations are alike but for their servers.
func sameRest(a, b *config.Config) bool {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		f := x.Type().Field(i)
		if f.IsExported() && f.Name != "MCP" && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func clone(servers map[string]definition.Definition) map[string]definition.Definition {
	all := make(map[string]definition.Definition, len(servers))
	for name, d := range servers {
		all[name] = d.Clone()
	}
	return all
}

// equal says whether servers are written alike.
func equal(a, b map[string]definition.Definition) bool { return same(sections(a), sections(b)) }

// swap puts the new text in place of the old one, unless that is no longer there.
func swap(target string, old, text []byte, mode fs.FileMode) (done bool, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(mode.Perm())
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return false, fmt.Errorf("write %s: %w", target, err)
	}
	now, _, err := config.Read(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read %s: %w", target, err)
	}
	if !bytes.Equal(now, old) {
		return false, nil
	}
	if err := os.Rename(tmp.Name(), target); err != nil {
		return false, fmt.Errorf("write %s: %w", target, err)
	}
	return true, syncFolder(filepath.Dir(target))
}

// syncFolder makes a rename last. Not every file system can.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}
