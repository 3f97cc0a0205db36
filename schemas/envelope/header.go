package envelope

import (
	"strconv"
	"strings"
	"time"
	"unique"
)

// Header names. The ce- ones follow the CloudEvents NATS protocol binding.
const (
	HeaderID     = "ce-id"
	HeaderType   = "ce-type"
	HeaderSource = "ce-source"
	HeaderSpec   = "ce-specversion"
	HeaderTime   = "ce-time"
	HeaderTrace  = "traceparent"
	HeaderCause  = "jc-cause"
	HeaderPrev   = "jc-prev"
	HeaderKey    = "jc-key"
	HeaderBlob   = "jc-blob"
	HeaderRules  = "jc-rules"

	specVersion = "1.0"
)

// Header has the form of a NATS header: case-sensitive names, lists of values.
type Header map[string][]string

// Get is the first value of a name as it is on the wire, or "".
func (h Header) Get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// text is the first value of a name, unescaped.
func (h Header) text(name string) string { return UnescapeValue(h.Get(name)) }

// own is text in memory of its own. The values of a message that came over the wire are parts of one string, its whole header
// block: a fold that keeps an id would keep all of that.
func (h Header) own(name string) string { return strings.Clone(h.text(name)) }

// shared is own for a name that has few values: one copy serves all.
func (h Header) shared(name string) string {
	if v := h.text(name); v != "" {
		return unique.Make(v).Value()
	}
	return ""
}

// headers is the room for all of HeaderOf and the four that the journal adds: a map that grows is built twice.
const headers = 14

// HeaderOf writes the envelope of e. Values from outside are escaped: see EscapeValue.
func HeaderOf(e Event) Header {
	var room [56]byte
	b := e.Time.UTC().AppendFormat(room[:0], time.RFC3339Nano)
	n := len(b)
	b = strconv.AppendUint(b, e.Prev, 10)
	numbers := string(b)

	w := writer{h: make(Header, headers), values: make([]string, 0, 10)}
	w.set(HeaderID, EscapeValue(e.ID))
	w.set(HeaderType, EscapeValue(e.Type()))
	w.set(HeaderSource, EscapeValue(e.Source))
	w.set(HeaderSpec, specVersion)
	w.set(HeaderTime, numbers[:n])
	w.set(HeaderPrev, numbers[n:])
	if e.Cause != "" {
		w.set(HeaderCause, EscapeValue(e.Cause))
	}
	if e.Trace != "" {
		w.set(HeaderTrace, EscapeValue(e.Trace))
	}
	if e.Key != "" {
		w.set(HeaderKey, EscapeValue(e.Key))
	}
	if e.Rules != "" {
		w.set(HeaderRules, EscapeValue(e.Rules))
	}
	return w.h
}

// writer fills a header whose lists of one value lie side by side in one array.
type writer struct {
	h      Header
	values []string
}

func (w *writer) set(name, value string) {
	w.values = append(w.values, value)
	n := len(w.values)
	w.h[name] = w.values[n-1 : n : n]
}

const hexDigits = "0123456789ABCDEF"

// EscapeValue writes s as a header value, as CloudEvents wants it: every byte that is not printable ASCII, the space,
// '"' and '%' become %HH. Without it a client of nats.go would trim the value and turn line ends into spaces, so that
// two source keys could become one.
func EscapeValue(s string) string {
	n := 0
	for i := range len(s) {
		if !bare(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; bare(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

func bare(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' }

// UnescapeValue is the inverse of EscapeValue. A '%' without two hex digits stands for itself.
func UnescapeValue(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
