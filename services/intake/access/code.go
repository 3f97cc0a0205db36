package access

import (
	"strings"
	"time"
)

const (
	// Alphabet is what codes are made of: 32 characters, none of which looks like another.
	Alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	// CodeLength is how many of them a code has.
	CodeLength = 8
	// CodeLife is how long a code is good for.
	CodeLife = time.Hour
	// MaxOpen is how many people may have an open request at one door.
	MaxOpen = 3
)

// IsCode says whether a text has the form of a code, as it is drawn.
func IsCode(s string) bool {
	return len(s) == CodeLength && strings.Trim(s, Alphabet) == ""
}

// sameCode compares as people type: upper and lower case are one.
func sameCode(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
