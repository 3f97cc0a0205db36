package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/jetclaw/jetclaw/bus/natsembed"
)

// CredsError says that the key of a bus user cannot be had.
type CredsError struct{ Err error }

func (e *CredsError) Error() string { return e.Err.Error() }
func (e *CredsError) Unwrap() error { return e.Err }

// noKey is text of a key that is not here; it is fs.ErrNotExist without saying so.
type noKey struct{ text string }

func (e *noKey) Error() string { return e.text }

// Is makes it known as what is missing: another way to do without that key may be taken.
func (e *noKey) Is(target error) bool { return target == fs.ErrNotExist }

// identity is how a user proves itself on the bus; empty for a server that asks nobody.
type identity struct {
	seed []byte
	jwt  string
}

// credsOf reads the identity of a user from a file, or from "<user>.nk" or "<user>.creds" in a folder. "" is none. A file that is
// named after another user is that one's: who does not have the owner's key must not try to be the owner with its own.
func credsOf(path, user string) (identity, error) {
	if path == "" {
		return identity{}, nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return identity{}, &CredsError{fmt.Errorf("credentials of %s: %w", user, err)}
	}
	if !st.IsDir() {
		return fileOf(path, user)
	}
	for _, ext := range []string{".nk", ".creds"} {
		id, err := readCreds(filepath.Join(path, user+ext), user)
		if !errors.Is(err, fs.ErrNotExist) {
			return id, err
		}
	}
	return identity{}, &CredsError{&noKey{fmt.Sprintf("credentials of %s: %s holds neither %s.nk nor %s.creds", user, path, user, user)}}
}

func fileOf(path, user string) (identity, error) {
	name := filepath.Base(path)
	if name = strings.TrimSuffix(name, filepath.Ext(name)); name != user && slices.Contains(userNames(), name) {
		return identity{}, &CredsError{&noKey{fmt.Sprintf("credentials of %s: %s is the key of %s, and each user has its own: name that of %s, "+
			"or the folder with all of them", user, path, name, user)}}
	}
	return readCreds(path, user)
}

// readCreds takes an nkey seed, or a creds file of an operator-mode account. Errors never quote the content.
func readCreds(path, user string) (identity, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return identity{}, &CredsError{fmt.Errorf("credentials of %s: %w", user, err)}
	}
	id, err := identityOf(data)
	if err != nil {
		return identity{}, &CredsError{fmt.Errorf("credentials of %s: %s: %w", user, path, err)}
	}
	return id, nil
}

var (
	errNoSeed = errors.New("it holds no seed of a NATS user")
	errNoJWT  = errors.New("it holds no JWT that can be read")
)

// identityOf reads what stands in such a file.
func identityOf(data []byte) (identity, error) {
	kp, err := nkeys.ParseDecoratedUserNKey(data)
	if err != nil {
		return identity{}, errNoSeed
	}
	defer kp.Wipe()
	seed, err := kp.Seed()
	if err != nil {
		return identity{}, errNoSeed
	}
	id := identity{seed: append([]byte(nil), seed...)}
	if bytes.Contains(data, []byte("BEGIN NATS USER JWT")) { // else the whole file would be taken for one
		if id.jwt, err = nkeys.ParseDecoratedJWT(data); err != nil {
			return identity{}, errNoJWT
		}
	}
	return id, nil
}

// keysOf reads the keys of the home for all users, and makes those that are missing.
func (e Env) keysOf(users []string) (map[string]natsembed.Key, error) {
	keys, err := natsembed.Keys(e.Home.Keys(), users...)
	if err != nil {
		return nil, &CredsError{err}
	}
	for _, k := range keys {
		e.Secrets.Add(string(k.Seed()))
	}
	return keys, nil
}
