package home

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/private"
)

// Token reads the HTTP API's bearer token and makes one where there is none. A file that others may read is refused: they
// may have.
func (h Home) Token() (string, error) {
	token, err := tokenIn(h.HTTPToken())
	if err != nil {
		return "", fmt.Errorf("the HTTP token: %w", err)
	}
	return token, nil
}

// MCPTokens is the file with the bearer tokens of the MCP endpoint.
func (h Home) MCPTokens() string { return filepath.Join(h.Keys(), "mcp.token") }

// MakeMCPTokens makes it with one token, where there is none.
func (h Home) MakeMCPTokens() error {
	if _, err := os.Stat(h.MCPTokens()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := h.Create(); err != nil {
		return err
	}
	_, err := tokenIn(h.MCPTokens())
	return err
}

func tokenIn(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFile(path, []byte(rand.Text()+rand.Text()+"\n")); err != nil {
			return "", fmt.Errorf("write %s: %w", path, err)
		}
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if st, err := os.Stat(path); err != nil || !private.File(st) {
		return "", fmt.Errorf("%s can be read by other users of this machine: remove it, and a new one is made", path)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken {
		return "", fmt.Errorf("%s holds less than %d characters: remove it, and a new one is made", path, minToken)
	}
	return token, nil
}

const minToken = 16
