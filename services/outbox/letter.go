package outbox

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// The bounds of what is sent. Bytes, but for those of a permission: characters.
const (
	maxText = 100_000
	maxKey  = 256
	maxBy   = 128

	maxTool        = 128
	maxDescription = 1000
	maxPreview     = 200
)

// maxAsked is how long a program may wait for a permission.
const maxAsked = time.Hour

var permissionID = regexp.MustCompile(`^[a-km-z]{5}$`)

// read is what a request has shown, and where; else a fault.
func read(r SendRequest, now time.Time) (session.ID, noticev1.Posted, error) {
	out := noticev1.Posted{Service: Spec().Name}
	sid, err := session.Parse(r.Session)
	if err != nil {
		return "", out, fault.New(fault.Invalid, "session: %w", err)
	}
	if !validKey(r.Key) {
		return "", out, fault.New(fault.Invalid, "the key has at most %d bytes, printable ASCII without spaces", maxKey)
	}
	if out.By, err = author(r.By); err != nil {
		return "", out, err
	}
	if out.Text, err = text(r.Text); err != nil {
		return "", out, err
	}
	out.Permission, err = permission(r.Permission, now)
	return sid, out, err
}

// validKey holds keys to the form that intake's have.
func validKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= maxKey
}

// author is who sends, as one line of what can be printed.
func author(by string) (string, error) {
	if !utf8.ValidString(by) {
		return "", fault.New(fault.Invalid, "by is not UTF-8")
	}
	switch by = line(by); {
	case by == "":
		return "", fault.New(fault.Invalid, `by is missing: who sends, such as "mcp:claude-code"?`)
	case len(by) > maxBy:
		return "", fault.New(fault.Invalid, "by has %d bytes, at most %d are taken", len(by), maxBy)
	}
	return by, nil
}

// text is held to what intake's gate lets in, since the same screens show it.
func text(s string) (string, error) {
	switch {
	case len(s) > maxText:
		return "", fault.New(fault.TooLarge, "the text has %d bytes, at most %d are taken: shorten it or send it in parts", len(s), maxText)
	case !utf8.ValidString(s):
		return "", fault.New(fault.Invalid, "the text is not UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return "", fault.New(fault.Invalid, "this is not text: byte %d is NUL", strings.IndexByte(s, 0))
	}
	if s = clean(s); strings.TrimSpace(s) == "" {
		return "", fault.New(fault.Invalid, "the text is empty: write something")
	}
	return s, nil
}

// permission is a question as it is kept: the program that asks has to be able to wait for the answer.
func permission(p *noticev1.Permission, now time.Time) (*noticev1.Permission, error) {
	if p == nil {
		return nil, nil
	}
	kept := *p
	switch {
	case !permissionID.MatchString(p.Request):
		return nil, fault.New(fault.Invalid, "permission.request %.40q: want 5 of the letters a to z without l", p.Request)
	case !p.Expires.After(now):
		return nil, fault.New(fault.Invalid, "permission.expires is not in the future: nobody would wait for the answer")
	case p.Expires.Sub(now) > maxAsked:
		return nil, fault.New(fault.Invalid, "permission.expires is more than %s away", maxAsked)
	case !utf8.ValidString(p.Tool) || !utf8.ValidString(p.Description) || !utf8.ValidString(p.Preview):
		return nil, fault.New(fault.Invalid, "a text of the permission is not UTF-8")
	}
	kept.Tool = shortened(line(p.Tool), maxTool)
	if kept.Tool == "" {
		return nil, fault.New(fault.Invalid, "permission.tool is missing: what is asked for?")
	}
	kept.Description = shortened(clean(p.Description), maxDescription)
	kept.Preview = shortened(clean(p.Preview), maxPreview)
	kept.Expires = p.Expires.UTC().Round(0)
	return &kept, nil
}

// clean makes CR LF and CR to LF and drops the other control characters (C0 but tab, DEL, C1), as intake does: they mean
// nothing in a message and can drive the terminal that shows it.
func clean(s string) string {
	dropped := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f }
	if !strings.ContainsFunc(s, dropped) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case dropped(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// line is a text as one line, without what cannot be seen.
func line(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)), " ")
}

// shortened is the beginning of a text, at most some characters.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
