// Package notation is how a tool call is written as a message: by a person who tries one, and by a program that has nothing
// else to say.
//
//	!tool NAME {json}
package notation

import (
	"strings"
	"unicode"
)

// Usage tells a person or a program how it is written.
const Usage = `!tool NAME {"argument": "value"}`

const mark = "!tool"

// Call reads a text. ok says that it asks for a call; name is "" when it does not say of what. arguments are as they stand
// there, "" for none: whoever makes the call checks them.
func Call(text string) (name, arguments string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), mark)
	if !ok || rest != "" && strings.IndexFunc(rest, unicode.IsSpace) != 0 {
		return "", "", false
	}
	rest = strings.TrimSpace(rest)
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		return rest[:end], strings.TrimSpace(rest[end:]), true
	}
	return rest, "", true
}
