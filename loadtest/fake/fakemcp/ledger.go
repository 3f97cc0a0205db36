package fakemcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Ledger is a file to which effects are added, by any number of processes. "" keeps nothing.
type Ledger string

// add writes a line, and returns when it is on the disk. Lines are short: an append of one is not torn.
func (l Ledger) add(tool, text string) error {
	if l == "" {
		return nil
	}
	f, err := os.OpenFile(string(l), os.O_CREATE|os.O_APPEND|os.O_WRONLY|os.O_SYNC, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	_, err = f.WriteString(tool + " " + strings.ReplaceAll(text, "\n", " ") + "\n")
	return errors.Join(err, f.Close())
}

// Effects counts what a tool has done, by its text. A ledger that nobody has written to is empty.
func (l Ledger) Effects(tool string) (map[string]int, error) {
	b, err := os.ReadFile(string(l))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if t, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); t == tool {
			out[text]++
		}
	}
	return out, nil
}
