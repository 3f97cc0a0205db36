package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/nats-io/nkeys"

	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/natsconf"
)

// MakeBusKeys makes the seed of each bus user that has none yet in a folder, and returns the public keys by user.
func MakeBusKeys(dir string) (map[string]string, error) {
	keys, err := natsembed.Keys(dir, userNames()...)
	if err != nil {
		return nil, &CredsError{err}
	}
	public := map[string]string{}
	for name, k := range keys {
		public[name] = k.Public
	}
	return public, nil
}

var keyLine = regexp.MustCompile(`(?m)^\s*(NKEY_[A-Z0-9_]+)\s*[:=]\s*"?(U[A-Z2-7]+)"?\s*$`)

// BusKeys are the public keys of all bus users: of the seeds in a folder, or as they stand in a file of keys.
func BusKeys(path string) (map[string]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &CredsError{fmt.Errorf("keys of the bus users: %w", err)}
	}
	find := seedIn(path)
	if !st.IsDir() {
		if find, err = listedIn(path); err != nil {
			return nil, err
		}
	}
	public := map[string]string{}
	for _, name := range userNames() {
		if public[name], err = find(name); err != nil {
			return nil, &CredsError{fmt.Errorf("keys of the bus users: %w", err)}
		}
		if !nkeys.IsValidPublicUserKey(public[name]) {
			return nil, &CredsError{fmt.Errorf("keys of the bus users: %s: that of %s is not the public key of a user", path, name)}
		}
	}
	return public, nil
}

func seedIn(dir string) func(user string) (string, error) {
	return func(user string) (string, error) {
		path := filepath.Join(dir, user+".nk")
		id, err := readCreds(path, user)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is not there: `jetclaw nats keys %s` makes it", path, dir)
		}
		if err != nil {
			return "", err
		}
		kp, err := nkeys.FromSeed(id.seed)
		if err != nil {
			return "", errNoSeed
		}
		defer kp.Wipe()
		return kp.PublicKey()
	}
}

func listedIn(path string) (func(user string) (string, error), error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &CredsError{fmt.Errorf("keys of the bus users: %w", err)}
	}
	listed := map[string]string{}
	for _, m := range keyLine.FindAllStringSubmatch(string(data), -1) {
		listed[m[1]] = m[2]
	}
	return func(user string) (string, error) {
		key, ok := listed[natsconf.Variable(user)]
		if !ok {
			return "", fmt.Errorf("%s has no line %s: \"U…\"; `jetclaw nats keys DIR` prints all of them", path, natsconf.Variable(user))
		}
		return key, nil
	}, nil
}
