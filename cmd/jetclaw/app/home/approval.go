package home

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/private"
)

// ApprovalKey reads the key that decisions of people are signed with, and makes it at the first start. Only the approvals
// service has it.
func (h Home) ApprovalKey() (ed25519.PrivateKey, error) {
	seed, err := h.approvalSeed()
	if errors.Is(err, fs.ErrNotExist) {
		if err := h.makeApprovalKey(); err != nil {
			return nil, err
		}
		seed, err = h.approvalSeed()
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of approvals: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	return key, h.publish(key)
}

func (h Home) makeApprovalKey() error {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("make the key of approvals: %w", err)
	}
	if err := makeFile(h.approvalKey(), encoded(key.Seed())); err != nil {
		return fmt.Errorf("write the key of approvals: %w", err)
	}
	return nil
}

// publish writes the public half beside it, for executors.
func (h Home) publish(key ed25519.PrivateKey) error {
	public, _ := key.Public().(ed25519.PublicKey)
	if old, err := readEncoded(h.approvalPublic()); err == nil && public.Equal(ed25519.PublicKey(old)) {
		return nil
	}
	if err := writeFile(h.approvalPublic(), encoded(public)); err != nil {
		return fmt.Errorf("write the public key of approvals: %w", err)
	}
	return nil
}

// ApprovalPublic is what signatures of ApprovalKey are checked with. Where there is none yet both are made.
func (h Home) ApprovalPublic() (ed25519.PublicKey, error) {
	public, err := readEncoded(h.approvalPublic())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key, err := h.ApprovalKey()
		if err != nil {
			return nil, err
		}
		made, _ := key.Public().(ed25519.PublicKey)
		return made, nil
	case err == nil && len(public) != ed25519.PublicKeySize:
		err = fmt.Errorf("%s holds no public key", h.approvalPublic())
	}
	return public, err
}

func (h Home) approvalSeed() ([]byte, error) {
	path := h.approvalKey()
	seed, err := readEncoded(path)
	if err != nil {
		return nil, err
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s holds no key: remove it, and a new one is made; what was approved and has not run is then asked for again", path)
	}
	if st, err := os.Stat(path); err != nil || !private.File(st) {
		return nil, fmt.Errorf("%s can be read by other users of this machine: remove it, and a new one is made", path)
	}
	return seed, nil
}

func (h Home) approvalKey() string    { return filepath.Join(h.Keys(), "approvals.key") }
func (h Home) approvalPublic() string { return filepath.Join(h.Keys(), "approvals.pub") }

func encoded(key []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(key) + "\n") }

func readEncoded(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as base64", path)
	}
	return key, nil
}
