// Package logs makes the process's logger and keeps secrets out of everything that it, or anybody else, writes for people.
//
// Redaction works on the finished text of a line, as the last thing before it is written: whatever way a secret took into
// it (the message, an attribute, a group, an error, a value that prints itself) it is found there. A Redactor knows the
// values of all secrets that were resolved, in the spellings that text and JSON give them, and the usual forms of tokens.
package logs

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask stands where a secret stood.
const Mask = "[redacted]"

// minSecret is the shortest value that is looked for, in bytes: shorter ones would make lines unreadable and are no
// secrets.
const minSecret = 4

// Redactor replaces secrets in text. The zero value knows the usual forms of tokens and no values. Values are only ever
// added. All methods may be called from any goroutine.
type Redactor struct {
	mu       sync.Mutex
	known    []string // guarded by mu; as they were added
	spelled  []string // guarded by mu; longest first, so that a secret within a longer one leaves nothing behind
	replacer atomic.Pointer[strings.Replacer]
}

// Add makes values known. It has to happen before the first use of a value that could reach a log.
func (r *Redactor) Add(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range values {
		if v = strings.TrimSpace(v); len(v) >= minSecret && !slices.Contains(r.known, v) {
			r.known = append(r.known, v)
		}
		for _, s := range spellings(v) {
			if len(s) >= minSecret && !slices.Contains(r.spelled, s) {
				r.spelled = append(r.spelled, s)
			}
		}
	}
	slices.SortFunc(r.spelled, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(r.spelled))
	for _, s := range r.spelled {
		pairs = append(pairs, s, Mask)
	}
	r.replacer.Store(strings.NewReplacer(pairs...))
}

// Known are the values that were added.
func (r *Redactor) Known() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.known)
}

// spellings are the forms in which a value can stand in a line of text or JSON (JSON within a line too), in a URL or in a
// Basic header.
func spellings(v string) []string {
	trimmed := strings.TrimSpace(v)
	forms := []string{v, trimmed, inQuotes(trimmed), inJSON(trimmed)}
	for _, f := range forms {
		forms = append(forms, inQuotes(f), inJSON(f))
	}
	forms = append(forms, url.QueryEscape(trimmed), url.PathEscape(trimmed), base64.StdEncoding.EncodeToString([]byte(trimmed)))
	for line := range strings.SplitSeq(trimmed, "\n") { // a key file: no line of it either
		if line = strings.TrimSpace(line); len(line) >= 16 {
			forms = append(forms, line)
		}
	}
	return forms
}

func inQuotes(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

func inJSON(s string) string {
	q, err := json.Marshal(s)
	if err != nil { // never for a string
		return s
	}
	return string(q[1 : len(q)-1])
}

// form is a usual form of a token and what stands there instead.
type form struct {
	*regexp.Regexp
	with string
}

func usual(pattern, with string) form { return form{regexp.MustCompile(pattern), with} }

var forms = []form{
	usual(`(?i)((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`, "${1}"+Mask),
	usual(`([a-z][a-z0-9+.-]*://)[^/\s"'@]+@`, "${1}"+Mask+"@"),
	usual(`\bsk-[A-Za-z0-9_-]{12,}`, Mask),
	usual(`\b(?:gh[pousr]_|github_pat_|xox[abeoprs]-|glpat-|AKIA)[A-Za-z0-9_-]{12,}`, Mask),
	usual(`(\b(?:bot)?)[0-9]{6,}:[A-Za-z0-9_-]{30,}`, "${1}"+Mask),
	usual(`\bS[ACNOPUX][A-Z2-7]{56}\b`, Mask),
	usual(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, Mask),
}

// named finds a value by what is written before it.
var named = regexp.MustCompile(
	`(?i)((?:api[_-]?key|access[_-]?token|auth[_-]?token|secret|password|passwd)["']?\s*[=:]\s*["']?)([^\s"'&,;}\[]{4,})`)

// Text is s without its secrets.
func (r *Redactor) Text(s string) string {
	if rep := r.replacer.Load(); rep != nil {
		s = rep.Replace(s)
	}
	for _, f := range forms {
		s = f.ReplaceAllString(s, f.with)
	}
	return named.ReplaceAllStringFunc(s, func(match string) string {
		part := named.FindStringSubmatch(match)
		if strings.HasPrefix(part[2], "env:") || strings.HasPrefix(part[2], "file:") {
			return match // a reference, as the configuration has it
		}
		return part[1] + Mask
	})
}

// Writer redacts what is written to w. Each Write must hold whole lines, as those of slog handlers do.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &writer{r: r, w: w} }

type writer struct {
	r *Redactor
	w io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.r.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
