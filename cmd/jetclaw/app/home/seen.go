package home

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Seen is the cursor up to which a person has seen a conversation in a terminal; ok is false when nothing is known. It is
// a convenience: a file that cannot be read counts as none.
func (h Home) Seen(conversation string) (cursor uint64, ok bool) {
	data, err := os.ReadFile(h.seen(conversation))
	if err != nil {
		return 0, false
	}
	cursor, err = strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return cursor, err == nil
}

// SetSeen remembers it.
func (h Home) SetSeen(conversation string, cursor uint64) error {
	path := h.seen(conversation)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("remember what was seen: %w", err)
	}
	if err := writeFile(path, []byte(strconv.FormatUint(cursor, 10)+"\n")); err != nil {
		return fmt.Errorf("remember what was seen: %w", err)
	}
	return nil
}

// seen is a file named by a hash: session ids can be longer than a file's name.
func (h Home) seen(conversation string) string {
	sum := sha256.Sum256([]byte(conversation))
	return filepath.Join(h.run(), "seen", hex.EncodeToString(sum[:16]))
}
