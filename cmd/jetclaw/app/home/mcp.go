package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/private"
)

// MCPIdentity reads the age key that credentials for MCP servers are encrypted with; where there is none, one is made by fresh. A
// file that others may read is refused: they may have.
func (h Home) MCPIdentity(fresh func() (string, error)) (string, error) {
	path := filepath.Join(h.Keys(), "mcp.age")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeIdentity(path, fresh); err != nil {
			return "", err
		}
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("read the key of MCP credentials: %w", err)
	}
	if st, err := os.Stat(path); err != nil || !private.File(st) {
		return "", fmt.Errorf("%s can be read by other users of this machine: remove it, and log in to MCP servers again", path)
	}
	return strings.TrimSpace(string(data)), nil
}

func makeIdentity(path string, fresh func() (string, error)) error {
	identity, err := fresh()
	if err != nil {
		return fmt.Errorf("make the key of MCP credentials: %w", err)
	}
	if err := makeFile(path, []byte(identity+"\n")); err != nil {
		return fmt.Errorf("write the key of MCP credentials: %w", err)
	}
	return nil
}
