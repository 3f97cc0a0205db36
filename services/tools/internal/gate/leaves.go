package gate

import (
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// leaf is one value of the arguments that is no object or list, or the whole of a list or object.
type leaf struct {
	path  []string // names of objects on the way; elements of lists have that of their list
	full  string   // the same with dots
	text  string
	shell bool
	whole bool // a list or object as JSON: for rules that deny or ask
	// forms are the spellings that rules which deny or ask look at, strict those that all have to match for a rule that allows.
	forms, strict []string
}

// leaves are the values of decoded arguments, in a fixed order.
func leaves(v any, path []string) []leaf {
	switch v := v.(type) {
	case map[string]any:
		var out []leaf
		if len(path) > 0 {
			out = append(out, whole(v, path))
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(v[name], append(slices.Clip(path), name))...)
		}
		return out
	case []any:
		out := []leaf{whole(v, path)}
		for _, e := range v {
			out = append(out, leaves(e, path)...)
		}
		return out
	case string:
		return []leaf{{path: path, text: v}}
	case json.Number:
		return []leaf{{path: path, text: v.String()}}
	case bool:
		return []leaf{{path: path, text: strconv.FormatBool(v)}}
	}
	return []leaf{{path: path, text: "null"}}
}

func whole(v any, path []string) leaf {
	return leaf{path: path, text: compact(v), whole: true}
}

// compact is a value as JSON without spaces, as people write it: < is no \u003c.
func compact(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // never: it was JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// under says whether name, a dotted path or "*", leads to the leaf or to something that holds it. A name that has dots
// itself is found as well.
func (l leaf) under(name string) bool {
	if name == "*" {
		return true
	}
	rest, ok := strings.CutPrefix(l.full, name)
	return ok && (rest == "" || rest[0] == '.')
}

// spellings are a text and what it means to those who read it otherwise: as compatible characters, percent-decoded, as an
// address with its host in lower case. Rules that deny look at all of them.
func spellings(text string) []string {
	text = strings.ReplaceAll(text, string(hole), "\uFFFD")
	out := []string{text}
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	add(norm.NFC.String(text))
	add(norm.NFKC.String(text))
	if strings.Contains(text, "%") {
		once := percentDecoded(text)
		for _, d := range []string{once, percentDecoded(once)} { // a server may decode it once more
			add(strings.ReplaceAll(d, string(hole), "\uFFFD"))
		}
	}
	if strings.Contains(text, "://") {
		if u, err := url.Parse(strings.TrimSpace(text)); err == nil && u.Host != "" {
			addresses(*u, add)
		}
	}
	return out
}

// addresses are the spellings of an address: without a user and the usual port, its host as it is looked up (full-width
// letters and dots, soft hyphens and other case are the same host), its path as servers read it.
func addresses(u url.URL, add func(string)) {
	host := u.Hostname()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	port := u.Port()
	u.User, u.Scheme, u.Host = nil, strings.ToLower(u.Scheme), strings.ToLower(strings.TrimSuffix(host, "."))
	if strings.Contains(u.Host, ":") {
		u.Host = "[" + u.Host + "]"
	}
	if port != "" && !(u.Scheme == "https" && port == "443") && !(u.Scheme == "http" && port == "80") {
		u.Host += ":" + port
	}
	add(u.String())
	tidy := path.Clean("/" + percentDecoded(u.Path)) // the parser has decoded it once
	if strings.HasSuffix(u.Path, "/") && tidy != "/" {
		tidy += "/"
	}
	if u.Path == "" || tidy != u.Path || u.RawPath != "" {
		u.Path, u.RawPath = tidy, ""
		add(u.String())
	}
}

// percentDecoded decodes each %XX that is one, and leaves the rest.
func percentDecoded(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
