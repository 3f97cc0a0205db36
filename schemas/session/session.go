// Package session names conversations.
//
// A session id has four tokens, agent.channel.account.peer (main.telegram.mybot.12345), and is part of every subject
// of the journal. A token holds letters, digits, '_' and '-'; every other byte is written =HH (two upper-case hex
// digits). The form is canonical: one conversation has exactly one id, so ids can be compared as strings.
package session

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ID is a session id in its canonical, escaped form. Make one with New or Parse.
type ID string

const (
	// Partitions is the number of virtual partitions of the journal; fixed for ever, as it is part of subjects.
	Partitions = 64
	// MaxToken is the longest escaped token, in bytes. Subjects stay below 1 KiB with it.
	MaxToken = 200
	tokens   = 4
)

var (
	// ErrToken says that a token is empty, too long, or not in its canonical escaped form.
	ErrToken = errors.New("bad session token")
	// ErrShape says that an id does not have four tokens.
	ErrShape = errors.New("a session id has four tokens: agent.channel.account.peer")
)

// New escapes the four parts of an id. It fails for a part that is empty, not UTF-8 or too long.
func New(agent, channel, account, peer string) (ID, error) {
	parts := []string{agent, channel, account, peer}
	for i, p := range parts {
		if !utf8.ValidString(p) {
			return "", fmt.Errorf("%w: part %d is not UTF-8", ErrToken, i+1)
		}
		e := Escape(p)
		if err := check(e); err != nil {
			return "", err
		}
		parts[i] = e
	}
	return ID(strings.Join(parts, ".")), nil
}

// Parse accepts the canonical form only. It keeps s itself and allocates nothing for plain tokens: every event read from
// the journal passes here.
func Parse(s string) (ID, error) {
	rest := s
	for n := 1; ; n++ {
		token, after, more := strings.Cut(rest, ".")
		if more != (n < tokens) {
			return "", fmt.Errorf("%q: %w", s, ErrShape)
		}
		if err := canonical(token); err != nil {
			return "", fmt.Errorf("%q: %w", s, err)
		}
		if !more {
			return ID(s), nil
		}
		rest = after
	}
}

// canonical says whether Escape made the token of a text that New accepts.
func canonical(token string) error {
	if err := check(token); err != nil {
		return err
	}
	raw, err := Unescape(token)
	if err != nil {
		return err
	}
	if Escape(raw) != token || !utf8.ValidString(raw) {
		return fmt.Errorf("%w: %q is not canonical", ErrToken, token)
	}
	return nil
}

func check(escaped string) error {
	switch {
	case escaped == "":
		return fmt.Errorf("%w: empty", ErrToken)
	case len(escaped) > MaxToken:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrToken, len(escaped), MaxToken)
	}
	return nil
}

func (id ID) String() string { return string(id) }

// Agent, Channel, Account and Peer are the unescaped parts; "" when the id was not made by New or Parse.
func (id ID) Agent() string   { return id.part(0) }
func (id ID) Channel() string { return id.part(1) }
func (id ID) Account() string { return id.part(2) }
func (id ID) Peer() string    { return id.part(3) }

func (id ID) part(n int) string {
	rest := string(id)
	for ; n > 0; n-- {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			return ""
		}
		rest = after
	}
	p, _, _ := strings.Cut(rest, ".")
	raw, err := Unescape(p)
	if err != nil {
		return ""
	}
	return raw
}

// Partition is the virtual partition of the session: fnv1a(id) mod 64. Written out, as hash/fnv would allocate.
func (id ID) Partition() int {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int(h % Partitions)
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

const hexDigits = "0123456789ABCDEF"

// Escape writes s as one subject token.
func Escape(s string) string {
	n := 0
	for i := range len(s) {
		if !plain(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// Unescape is the inverse of Escape.
func Unescape(token string) (string, error) {
	if !strings.Contains(token, "=") {
		for i := range len(token) {
			if !plain(token[i]) {
				return "", fmt.Errorf("%w: byte %q must be written =HH", ErrToken, token[i])
			}
		}
		return token, nil
	}
	b := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		switch {
		case plain(c):
			b = append(b, c)
		case c == '=' && i+2 < len(token):
			hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
			if hi < 0 || lo < 0 {
				return "", fmt.Errorf("%w: %q is not =HH", ErrToken, token[i:i+3])
			}
			b = append(b, byte(hi<<4|lo))
			i += 2
		default:
			return "", fmt.Errorf("%w: byte %q must be written =HH", ErrToken, c)
		}
	}
	return string(b), nil
}
