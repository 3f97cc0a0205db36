package definition

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/secret"
)

// hidden stands where a secret was.
const hidden = "***"

// span is a part of a text.
type span struct{ start, end int }

// Redacted is d with *** in place of the secrets that are written out in it. References stay as they are.
func (d Definition) Redacted() Definition {
	return d.rewrite(func(s setting, text string) string {
		var b strings.Builder
		at := 0
		for _, sp := range s.literals(text) {
			b.WriteString(text[at:sp.start])
			b.WriteString(hidden)
			at = sp.end
		}
		return b.String() + text[at:]
	})
}

// Launch says how the server is reached, in one line and in full, without secrets: its command line with the folder it runs in,
// or its transport and address.
func (d Definition) Launch() string {
	r := d.Redacted()
	if r.Command == "" {
		if r.URL == "" {
			return ""
		}
		return r.TransportName() + " " + printable(r.URL)
	}
	words := []string{quoted(r.Command)}
	for _, a := range r.Args {
		words = append(words, quoted(a))
	}
	text := strings.Join(words, " ")
	if r.Cwd != "" {
		text += " (cwd=" + printable(r.Cwd) + ")"
	}
	return text
}

// quoted is a word of a command line: in quotes where one could not tell else where it begins and ends.
func quoted(word string) string {
	switch {
	case word == "", printable(word) != word:
		return strconv.Quote(word)
	case strings.Contains(word, "'"):
		return strconv.Quote(word)
	case strings.ContainsAny(word, " \"`\\"):
		return "'" + word + "'"
	}
	return word
}

// printable is a text that cannot move a terminal's cursor.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}

// literals are the parts of a text that are secrets written out, in their order and apart from each other. References in it are
// none.
func (s setting) literals(text string) []span {
	if _, ok, _ := s.reference(text); ok || text == "" {
		return nil
	}
	var found []span
	switch s.kind {
	case plainText:
	case clientSecret:
		return []span{{0, len(text)}}
	case variable:
		if sensitive(s.name, text) {
			found = []span{{0, len(text)}}
		}
	case headerValue:
		if sensitiveHeader(s.name, text) {
			found = []span{credential(text, 0)}
		}
	case argument:
		found = option(s.before, text)
	case location:
		found = addressSecrets(text, 0)
	}
	if len(found) == 0 {
		found = byForm(text)
	}
	return withoutReferences(text, found)
}

// byForm finds what looks like a secret whatever it is called.
func byForm(text string) []span {
	if random(text) {
		return []span{{0, len(text)}}
	}
	var found []span
	for _, f := range secret.Find(text) {
		found = append(found, span{f.Start, f.End})
	}
	if i := strings.Index(text, "://"); i > 0 {
		start := strings.LastIndexAny(text[:i], " =\"'<(,;") + 1
		found = append(found, addressSecrets(text[start:], start)...)
	}
	return sorted(append(found, assigned(text)...))
}

// assigned finds passwords within a text as database drivers take it: Server=db;User=sa;Password=….
func assigned(text string) []span {
	var found []span
	for at := 0; at < len(text); {
		stop := len(text)
		if i := strings.IndexAny(text[at:], "; \t\n"); i >= 0 {
			stop = at + i
		}
		if name, value, ok := strings.Cut(text[at:stop], "="); ok && value != "" && optionName(name) {
			if words := wordsOf(name); slices.ContainsFunc(words, strong) && sensitive(name, value) {
				found = append(found, span{at + len(name) + 1, stop})
			}
		}
		at = stop + 1
	}
	return found
}

// option finds the secret in an argument of a command line: the value of --token, of --token=…, of API_KEY=… and of a header
// "Authorization: …".
func option(before, text string) []span {
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !strings.HasPrefix(text, "--") &&
		sensitive(strings.TrimLeft(before, "-"), text) {
		return []span{credential(text, 0)}
	}
	for at := 0; ; { // as in --env=API_KEY=…
		name, value, ok := strings.Cut(text[at:], "=")
		if !ok || !optionName(name) {
			return headerIn(text, at)
		}
		at += len(name) + 1
		if sensitive(strings.TrimLeft(name, "-"), value) {
			return []span{{at, len(text)}}
		}
	}
}

func headerIn(text string, at int) []span {
	name, value, ok := strings.Cut(text[at:], ":")
	if !ok || !optionName(name) || strings.HasPrefix(value, "//") || !sensitiveHeader(name, value) {
		return nil
	}
	return []span{credential(text, at+len(name)+1)}
}

func optionName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r > '~' || r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// credential is the secret of a header's value that begins at from: what follows the scheme, where there is one.
func credential(text string, from int) span {
	for from < len(text) && text[from] == ' ' {
		from++
	}
	scheme, _, ok := strings.Cut(text[from:], " ")
	if ok {
		for _, known := range []string{"bearer", "basic", "token", "apikey", "digest", "bot", "key"} {
			if strings.EqualFold(scheme, known) {
				return span{from + len(scheme) + 1, len(text)}
			}
		}
	}
	return span{from, len(text)}
}

// addressSecrets finds the user information of an address and the values of its parameters that are secret. offset is where text
// begins.
func addressSecrets(text string, offset int) []span {
	var found []span
	begin := strings.Index(text, "://")
	if begin < 0 {
		return nil
	}
	begin += len("://")
	end := len(text)
	if i := strings.IndexAny(text[begin:], "/?#"); i >= 0 {
		end = begin + i
	}
	if i := strings.LastIndexByte(text[begin:end], '@'); i > 0 {
		found = append(found, span{offset + begin, offset + begin + i})
	}
	for at := end; ; {
		i := strings.IndexAny(text[at:], "?&#;")
		if i < 0 {
			break
		}
		at += i + 1
		stop := len(text)
		if j := strings.IndexAny(text[at:], "&#;"); j >= 0 {
			stop = at + j
		}
		name, value, ok := strings.Cut(text[at:stop], "=")
		if ok && value != "" && (sensitiveHeader(name, value) || strings.EqualFold(name, "code") || random(value)) {
			found = append(found, span{offset + at + len(name) + 1, offset + stop})
		}
	}
	for at := end; at < len(text); { // a part of the path can be a token too
		stop := len(text)
		if i := strings.IndexAny(text[at+1:], "/?#"); i >= 0 {
			stop = at + 1 + i
		}
		if text[at] != '/' {
			break
		}
		if part := text[at+1 : stop]; random(part) || masked(part) != part {
			found = append(found, span{offset + at + 1, offset + stop})
		}
		at = stop
	}
	return sorted(found)
}
