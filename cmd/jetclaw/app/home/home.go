// Package home is the folder in which a jetclaw lives.
//
//	jetclaw.yaml        the configuration; may be missing
//	data/               the JetStream store
//	keys/               one key a bus user, the HTTP token (0600)
//	run/lock            held by the one process that owns data/; says which one that is
//	run/endpoint.json   how the CLI reaches the daemon (0600); valid while the lock is held
//	index/              what can be built again from data/: the read model of conversations; made by who reads it,
//	                    one process (index/lock)
//	archive/            conversations that were taken out of the journal; made when the first one is
//	workspace/          what agents work on; made by the turns service, with files to begin with
//
// All folders are the owner's alone (0700). The lock is the kernel's (flock): it ends with the process, however that
// ends, so there is nothing stale to clean up. What run/ says besides is believed only while the lock is held.
package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Home is the folder. Make one with Open, or with At when nothing is to be created.
type Home struct{ dir string }

// EnvVar names the folder, where it is not ~/.jetclaw.
const EnvVar = "JETCLAW_HOME"

// Find says where the home is, by the environment.
func Find(lookup func(string) (string, bool)) (Home, error) {
	dir, _ := lookup(EnvVar)
	if dir == "" {
		user, _ := lookup("HOME")
		if user == "" {
			return Home{}, fmt.Errorf("neither %s nor HOME is set: say where jetclaw may keep its data, as in %s=/srv/jetclaw",
				EnvVar, EnvVar)
		}
		dir = filepath.Join(user, ".jetclaw")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("find the home: %w", err)
	}
	return Home{dir: abs}, nil
}

// Dir is the folder itself.
func (h Home) Dir() string { return h.dir }

// Config is the path of the configuration file.
func (h Home) Config() string { return filepath.Join(h.dir, "jetclaw.yaml") }

// Data is the folder of the JetStream store.
func (h Home) Data() string { return filepath.Join(h.dir, "data") }

// Keys is the folder of keys and tokens.
func (h Home) Keys() string { return filepath.Join(h.dir, "keys") }

// Index is the folder of what can be built again from the store.
func (h Home) Index() string { return filepath.Join(h.dir, "index") }

// Conversations is the file of the read model of conversations.
func (h Home) Conversations() string { return filepath.Join(h.Index(), "conversations.sqlite") }

// HTTPToken is the file with the bearer token of the HTTP API.
func (h Home) HTTPToken() string { return filepath.Join(h.Keys(), "http.token") }

// Resolve makes a path of the configuration absolute.
func (h Home) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.dir, path)
}

func (h Home) run() string      { return filepath.Join(h.dir, "run") }
func (h Home) lock() string     { return filepath.Join(h.run(), "lock") }
func (h Home) endpoint() string { return filepath.Join(h.run(), "endpoint.json") }

// Create makes the folders that are missing. It does not touch the modes of those that exist.
func (h Home) Create() error {
	for _, dir := range []string{h.dir, h.Data(), h.Keys(), h.run()} {
		if _, err := os.Lstat(dir); err == nil {
			continue
		}
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = syncDir(filepath.Dir(dir)) // or all that is synced in it is gone with its name when the power fails
		}
		if err != nil {
			return fmt.Errorf("create the home: %w", err)
		}
	}
	return nil
}

// writeFile replaces a file at once: a reader sees the old content or the new, and a crash or a power failure leaves one of
// them. Once it has returned, that is the new one: a key that was used is not lost.
func writeFile(path string, data []byte) error {
	temp, err := beside(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// makeFile makes a file with a secret, unless one is there: of several processes that make it at the same time one does, and the
// others have to read what that has written.
func makeFile(path string, data []byte) error {
	temp, err := beside(path, data)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// beside writes data into a new file in the folder of path.
func beside(path string, data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncDir makes names durable. Not every file system can, and not every system lets a folder be opened.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
