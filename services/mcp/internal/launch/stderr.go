package launch

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	tailLines = 64
	tailBytes = 16 << 10
	rawLine   = 8 << 10 // of a line; what follows is not kept
	shownLine = 4 << 10 // of it: a secret that the cut goes through stands in the half that is not shown
	logLine   = 1 << 10
	// A program may write as much as it likes; the log takes so many lines a period.
	logLines  = 50
	logPeriod = time.Minute
)

// tail keeps the end of what a program writes to stderr. It takes what it is given at once and never fails, so that
// the program never waits.
type tail struct {
	redact func(string) string
	log    *slog.Logger

	mu    sync.Mutex
	lines [][]byte // as written; secrets are taken out when somebody looks: most lines nobody sees
	size  int      // of lines
	open  []byte   // the line that has no end yet

	since        time.Time // the period of the log
	told, untold int       // in it
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		i := bytes.IndexAny(rest, "\r\n") // progress bars write \r
		part := rest
		if i >= 0 {
			part = rest[:i]
		}
		t.open = append(t.open, part[:min(len(part), rawLine-len(t.open))]...)
		if i < 0 {
			break
		}
		t.endLine()
		rest = rest[i+1:]
	}
	return len(p), nil
}

func (t *tail) endLine() {
	if len(bytes.TrimSpace(t.open)) == 0 {
		t.open = t.open[:0]
		return
	}
	t.lines, t.size = append(t.lines, t.open), t.size+len(t.open)
	t.say(t.open)
	t.open = nil
	for len(t.lines) > tailLines || t.size > tailBytes {
		t.size -= len(t.lines[0])
		t.lines = t.lines[1:]
	}
}

func (t *tail) say(line []byte) {
	if now := time.Now(); now.Sub(t.since) >= logPeriod {
		t.sayUntold()
		t.since, t.told = now, 0
	}
	if t.told >= logLines {
		t.untold++
		return
	}
	t.told++
	t.log.Info("the server's stderr", "text", excerpt(line, t.redact))
}

func (t *tail) sayUntold() {
	if t.untold > 0 {
		t.log.Info("the server wrote more to stderr than is logged", "lines", t.untold)
		t.untold = 0
	}
}

// end takes a last line without an end.
func (t *tail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLine()
	t.sayUntold()
}

func (t *tail) text() string {
	t.mu.Lock()
	all := bytes.Join(append(slices.Clip(t.lines), t.open), []byte("\n"))
	t.mu.Unlock()
	// All lines at once: a secret may have several.
	lines := strings.Split(printable(all, t.redact), "\n")
	for i, line := range lines {
		lines[i] = crop(line, shownLine)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// excerpt is the beginning of a line, for a log.
func excerpt(line []byte, redact func(string) string) string {
	return crop(strings.TrimSpace(printable(line[:min(len(line), rawLine)], redact)), logLine)
}

var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[\x20-/]*[\x40-\x7e]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[\x20-/]*[0-~])`)

// printable is text that a terminal and a log can show. Secrets are taken out last: a control character within one must not hide it.
func printable(raw []byte, redact func(string) string) string {
	text := escapes.ReplaceAllString(strings.ToValidUTF8(string(raw), "\uFFFD"), "")
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	if redact != nil {
		text = redact(text)
	}
	return text
}

func crop(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
