package web

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/builtin/internal/web/markdown"
)

const (
	maxPart    = 56 << 10 // of a page's text in one result
	maxExcerpt = 1000     // of what comes with a status of failure
	maxTitle   = 300
)

// show makes a result of an answer, from a byte of its text on.
func (a *answer) show(offset int) (tool.Result, error) {
	res := tool.Result{Untrusted: true}
	head := "URL: " + a.url.String() + "\n"
	title, text := a.text()
	if title != "" {
		head += "Title: " + clip(title, maxTitle) + "\n"
	}
	if a.status >= http.StatusMultipleChoices { // 3xx that leads nowhere is none the better
		res.Failed = true
		res.Text = head + strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.status, http.StatusText(a.status))) + later(a.header) + "\n\n" + clip(text, maxExcerpt)
		return res, nil
	}
	if offset > 0 && offset >= len(text) {
		return tool.Result{}, fmt.Errorf("the offset lies beyond the end: the text has %d bytes", len(text))
	}
	for offset > 0 && !utf8.RuneStart(text[offset]) {
		offset--
	}
	part := text[offset:]
	if len(part) > maxPart {
		part = part[:cutAt(part)]
	}
	end := offset + len(part)
	res.Text = head + "\n" + part
	if res.Cut = int64(len(text) - end); res.Cut > 0 {
		res.Text += fmt.Sprintf("\n\n[bytes %d to %d of %d; go on with offset %d]", offset, end, len(text), end)
	} else if a.cut {
		res.Text += fmt.Sprintf("\n\n[the page is longer than the %d MiB that are read]", maxBody>>20)
	}
	return res, nil
}

// cutAt finds where a part of at most maxPart bytes ends: at a line's end if there is one near.
func cutAt(s string) int {
	n := maxPart
	for !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexByte(s[n-n/16:n], '\n'); i >= 0 {
		return n - n/16 + i + 1
	}
	return n
}

// text is what of an answer is read, as valid UTF-8 without control characters.
func (a *answer) text() (title, text string) {
	kind := mediaType(a.header, a.body)
	switch coding := a.header.Get("Content-Encoding"); {
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return "", "(The server sent the page in an encoding that it was not asked for.)"
	case len(a.body) == 0 && a.length <= 0:
		return "", "(The page is empty.)"
	case kind == "application/pdf":
		return "", fmt.Sprintf("(A PDF document of %s. This tool cannot read its text.)", a.size())
	case !readable(kind) || looksBinary(a.body, a.header):
		return "", fmt.Sprintf("(No text: %s, %s.)", kind, a.size())
	}
	src := decode(a.body, a.header.Get("Content-Type"), isHTML(kind) || isXML(kind))
	if !isHTML(kind) {
		return "", clean(src)
	}
	p := markdown.Convert(src, a.url)
	a.cut = a.cut || p.Cut
	text = clean(p.Text)
	if text == "" {
		text = "(The page shows no text. It may need a browser that runs its scripts.)"
	}
	return strings.Join(strings.Fields(clean(p.Title)), " "), text
}

func (a *answer) size() string {
	switch {
	case a.length < 0:
		return fmt.Sprintf("more than %d bytes", len(a.body))
	case a.length == 1:
		return "1 byte"
	default:
		return fmt.Sprintf("%d bytes", a.length)
	}
}

// mediaType is what a body is: what its header says, or what it looks like if that says nothing.
func mediaType(h http.Header, body []byte) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	says := err == nil && strings.Contains(kind, "/") && kind != "application/octet-stream" && kind != "binary/octet-stream"
	if !says && len(body) > 0 {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	if len(kind) > 100 || strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "of an unknown type"
	}
	return kind
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isXML(kind string) bool {
	return strings.HasSuffix(kind, "/xml") || strings.HasSuffix(kind, "+xml")
}

// texts are types that are text without saying so.
var texts = []string{
	"application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript", "application/yaml",
	"application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl", "application/x-sh", "application/sql", "application/graphql",
	"application/x-httpd-php", "application/x-tex", "application/x-www-form-urlencoded", "message/rfc822",
}

func readable(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || kind != "image/svg+xml" && strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+yaml") || slices.Contains(texts, kind)
}

// later is what the server says of trying again.
func later(h http.Header) string {
	if d := retryAfter(h); d > 0 {
		return fmt.Sprintf(" (try again in %s)", d)
	}
	return ""
}

// clip shortens a text to n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n]) + " …"
}
