package natsembed

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/nats-io/nkeys"
)

// Key is the nkey of one bus user. It never shows its seed in a text or a log.
type Key struct {
	User   string
	Public string // what the server knows
	seed   []byte
}

// Seed is the secret half, for the connection of the user.
func (k Key) Seed() []byte { return append([]byte(nil), k.seed...) }

func (k Key) String() string { return k.User + " (" + k.Public + ")" }

// GoString keeps %#v from printing the seed.
func (k Key) GoString() string { return k.String() }

// LogValue keeps slog from printing the seed.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// ErrKeys says that the keys cannot be used as they are.
var ErrKeys = errors.New("the bus keys cannot be used")

var userName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Keys loads the keys of users from dir, one file "<user>.nk" each, and makes those that are missing. Directory and
// files belong to their owner alone (0700, 0600); wider ones are refused, since whoever could read them may have.
// Processes that call it at the same time get the same keys.
func Keys(dir string, users ...string) (map[string]Key, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	if err := private(dir, "0700"); err != nil {
		return nil, err
	}
	keys := make(map[string]Key, len(users))
	for _, u := range users {
		k, err := key(dir, u)
		if err != nil {
			return nil, err
		}
		keys[u] = k
	}
	return keys, nil
}

func key(dir, user string) (Key, error) {
	if !userName.MatchString(user) {
		return Key{}, fmt.Errorf("%w: %q is not a user name", ErrKeys, user)
	}
	path := filepath.Join(dir, user+".nk")
	k, err := loadKey(path, user)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(dir, path); err != nil {
			return Key{}, fmt.Errorf("%w: make %s: %w", ErrKeys, path, err)
		}
		k, err = loadKey(path, user)
	}
	return k, err
}

func loadKey(path, user string) (Key, error) {
	if err := private(path, "0600"); err != nil {
		return Key{}, err
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	kp, err := nkeys.ParseDecoratedUserNKey(seed)
	if err != nil { // its text is left out: it could quote the file
		return Key{}, fmt.Errorf("%w: %s does not hold the seed of a user; remove it to get a new one", ErrKeys, path)
	}
	defer kp.Wipe()
	public, err := kp.PublicKey()
	if err != nil {
		return Key{}, fmt.Errorf("%w: %s: no public key", ErrKeys, path)
	}
	raw, err := kp.Seed()
	if err != nil {
		return Key{}, fmt.Errorf("%w: %s: no seed", ErrKeys, path)
	}
	return Key{User: user, Public: public, seed: append([]byte(nil), raw...)}, nil
}

// makeKey writes a new seed under a name of its own and links it: another process sees the whole file or none, and
// whoever comes second finds the first one's.
func makeKey(dir, path string) error {
	kp, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	defer kp.Wipe()
	seed, err := kp.Seed()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(seed, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if d, err := os.Open(dir); err == nil { // the name is to survive a power failure, too; not every system can tell it to
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// private refuses what others than the owner can reach.
func private(path, mode string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeys, err)
	}
	if runtime.GOOS == "windows" { // modes say nothing there
		return nil
	}
	if !st.IsDir() && !st.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", ErrKeys, path)
	}
	if wide := st.Mode().Perm() & 0o077; wide != 0 {
		return fmt.Errorf("%w: %s has mode %04o: others on this machine can reach it; run `chmod %s %s`, and replace "+
			"the keys if anybody may have read them", ErrKeys, path, st.Mode().Perm(), mode, path)
	}
	return nil
}
