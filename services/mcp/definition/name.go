package definition

import (
	"errors"
	"strings"
)

// Issue is something about a definition that its owner should know.
type Issue struct {
	Level   string `json:"level"` // LevelError, LevelWarning or LevelInfo
	Message string `json:"message"`
	// Setting is what it is about, as in "env.API_TOKEN"; "" for the definition as a whole. A message that begins with it
	// goes on with a space.
	Setting string `json:"-"`
}

// Levels of an Issue.
const (
	LevelError   = "error" // the server cannot be used
	LevelWarning = "warning"
	LevelInfo    = "info"
)

// MaxName bounds the name of a server, in bytes.
const MaxName = 64

var errName = errors.New("a name has 1 to 64 letters, digits, - and _, and begins with a letter or a digit")

// ValidName says why name cannot be that of a server: it becomes part of the names of tools, of subjects and of files.
func ValidName(name string) error {
	if name == "" || len(name) > MaxName || name[0] == '-' || name[0] == '_' {
		return errName
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return errName
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// NameFrom is the nearest valid name to what another client calls a server.
func NameFrom(text string) string {
	var b strings.Builder
	gap := false
	for i := 0; i < len(text) && b.Len() < MaxName; i++ {
		switch c := text[i]; {
		case !nameByte(c):
			gap = b.Len() > 0
		case (c == '-' || c == '_') && b.Len() == 0:
		default:
			if gap && b.Len() < MaxName-1 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteByte(c)
		}
	}
	if b.Len() == 0 {
		return "server"
	}
	return b.String()
}
