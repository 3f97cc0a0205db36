package home

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Token reads the HTTP API's bearer token and makes one where there is none. A file that others may read is refused: they
// may have.
func (h Home) Token() (string, error) {
	path := h.HTTPToken()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		token := rand.Text() + rand.Text()
		if err := writeFile(path, []byte(token+"\n")); err != nil {
			return "", fmt.Errorf("write the HTTP token: %w", err)
		}
		return token, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the HTTP token: %w", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by other users of this machine: remove it, and a new one is made", path)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken {
		return "", fmt.Errorf("%s holds less than %d characters: remove it, and a new one is made", path, minToken)
	}
	return token, nil
}

const minToken = 16
