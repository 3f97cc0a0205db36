// Package content makes what an MCP server returns a text that a model reads, and files beside it. It is pure, and it never fails:
// what cannot be shown is named in the text.
//
// All of it is the server's word. The text is valid UTF-8 without control characters other than line breaks and tabs, lines that
// this package adds cannot be broken by a name in them, and nothing is longer than the caller says.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxFiles is how many files one result may have; others are only named.
const MaxFiles = 64

// File is an image, a sound or a binary resource of a result.
type File struct {
	Name, MIME string
	Digest     string // SHA-256 of Data, in hexadecimal: Text names the file so
	Data       []byte
}

// Result is what a model reads.
type Result struct {
	Text   string
	Files  []File
	Cut    int64 // bytes of the text that were left out
	Failed bool  // the tool says that it has failed
}

// OfResult shows the result of a tool. Structured content is only shown if no text says the same.
func OfResult(r *mcp.CallToolResult, limit int) Result {
	if r == nil {
		return Result{}
	}
	var p page
	for _, c := range r.Content {
		p.content(c)
	}
	if r.StructuredContent != nil && !p.says(r.StructuredContent) {
		p.json(r.StructuredContent)
	}
	res := p.result(limit)
	res.Failed = r.IsError
	return res
}

// OfResource shows a resource that was read.
func OfResource(r *mcp.ReadResourceResult, limit int) Result {
	if r == nil {
		return Result{}
	}
	var p page
	for _, c := range r.Contents {
		if len(r.Contents) == 1 && c != nil && c.Blob == nil {
			p.text(c.Text) // who has asked for one knows which
			continue
		}
		p.resource(c)
	}
	return p.result(limit)
}

// OfPrompt shows a prompt, each message under its role.
func OfPrompt(r *mcp.GetPromptResult, limit int) Result {
	if r == nil {
		return Result{}
	}
	var p page
	if r.Description != "" {
		p.text(r.Description)
	}
	for _, m := range r.Messages {
		if m == nil {
			continue
		}
		p.text("[" + word(string(m.Role)) + "]")
		p.content(m.Content)
	}
	return p.result(limit)
}

// page is a result in the making.
type page struct {
	blocks []string
	texts  []string // blocks that are nothing but text of the server
	files  []File
}

func (p *page) text(s string) {
	s = clean(s)
	p.blocks = append(p.blocks, s)
	p.texts = append(p.texts, s)
}

func (p *page) line(format string, args ...any) {
	p.blocks = append(p.blocks, fmt.Sprintf(format, args...))
}

func (p *page) json(v any) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		p.line("[structured content that cannot be shown]")
		return
	}
	p.blocks = append(p.blocks, clean(strings.TrimSpace(out.String())))
}

func (p *page) content(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		p.text(c.Text)
	case *mcp.ImageContent:
		p.file("image", "", c.MIMEType, c.Data)
	case *mcp.AudioContent:
		p.file("audio", "", c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		p.line("[resource %s]", about(c.Name, c.URI, c.MIMEType, sizeOf(c.Size)))
	case *mcp.EmbeddedResource:
		p.resource(c.Resource)
	case nil:
	default:
		p.line("[content of a kind that cannot be shown]")
	}
}

func (p *page) resource(c *mcp.ResourceContents) {
	switch {
	case c == nil:
	case c.Blob != nil:
		p.file("resource", c.URI, c.MIMEType, c.Blob)
	default:
		p.line("[resource %s]\n%s", about("", c.URI, c.MIMEType, ""), clean(c.Text))
	}
}

// file adds a file, and a line that says so.
func (p *page) file(kind, uri, mime string, data []byte) {
	what := kind + " " + word(mime)
	if uri != "" {
		what = kind + " " + about("", uri, mime, "")
	}
	if len(p.files) == MaxFiles {
		p.line("[%s, %s: left out]", what, size(int64(len(data))))
		return
	}
	sum := sha256.Sum256(data)
	f := File{Name: name(kind, uri, mime, len(p.files)+1), MIME: word(mime), Digest: hex.EncodeToString(sum[:]), Data: data}
	p.files = append(p.files, f)
	p.line("[%s, %s: file %s]", what, size(int64(len(data))), f.Digest)
}

func (p *page) result(limit int) Result {
	text := strings.Join(p.blocks, "\n\n")
	kept := text
	if limit = max(limit, 0); len(text) > limit {
		kept = strings.ToValidUTF8(text[:limit], "")
	}
	return Result{Text: kept, Files: p.files, Cut: int64(len(text) - len(kept))}
}

// says is true if one of the texts is the structured content. Servers send both, for clients that know only text; some wrap what is
// no object in one of a single key.
func (p *page) says(v any) bool {
	v = plain(v)
	wanted := []any{v}
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for _, only := range m {
			wanted = append(wanted, only)
		}
	}
	for _, text := range p.texts {
		var got any
		if json.Unmarshal([]byte(text), &got) != nil {
			got = nil
		}
		for _, w := range wanted {
			said, isText := w.(string)
			if got != nil && reflect.DeepEqual(got, w) || isText && text == clean(said) {
				return true
			}
		}
	}
	return false
}

// plain is v as JSON has it.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var p any
	if json.Unmarshal(data, &p) != nil {
		return v
	}
	return p
}

// about names a resource: NAME URI (MIME, SIZE).
func about(name, uri, mime, size string) string {
	text := strings.TrimSpace(word(name) + " " + word(uri))
	var in []string
	for _, s := range []string{word(mime), size} {
		if s != "" {
			in = append(in, s)
		}
	}
	if len(in) > 0 {
		text += " (" + strings.Join(in, ", ") + ")"
	}
	return strings.TrimSpace(text)
}

func sizeOf(n *int64) string {
	if n == nil || *n < 0 {
		return ""
	}
	return size(*n)
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 1<<20:
		return strconv.FormatInt((n+1<<9)>>10, 10) + " KB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
}

var extensions = map[string]string{ //nolint:gochecknoglobals // a constant
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/mp4": ".m4a", "audio/webm": ".webm",
	"application/pdf": ".pdf", "application/zip": ".zip", "application/json": ".json", "text/plain": ".txt", "text/html": ".html",
}

// name is a file name: the last part of the URI if that is one, or a number.
func name(kind, uri, mime string, n int) string {
	base, _, _ := strings.Cut(uri, "?")
	base, _, _ = strings.Cut(base, "#")
	base = word(path.Base(base))
	if uri == "" || base == "." || base == ".." || base == "/" || len(base) > 100 || strings.ContainsAny(base, `/\:*?"<>|`) {
		return kind + "-" + strconv.Itoa(n) + extensions[mime]
	}
	return base
}
