package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	astext "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// page is one piece being rendered.
type page struct {
	*Renderer
	source []byte
}

// inline is the text of a node's children. Without colours emphasis keeps its marks.
func (p *page) inline(n ast.Node, l look) (spans []span) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		spans = append(spans, p.one(c, l)...)
	}
	return spans
}

func (p *page) one(n ast.Node, l look) []span {
	switch n := n.(type) {
	case *ast.Text:
		s := p.text(n.Value(p.source), n.IsRaw())
		if n.SoftLineBreak() || n.HardLineBreak() { // in a chat a line break is meant
			s += "\n"
		}
		return []span{{s, l}}
	case *ast.String:
		return []span{{p.text(n.Value, n.IsRaw()), l}}
	case *ast.CodeSpan:
		return p.marked("`", l|mono, p.codeSpan(n, l|mono))
	case *ast.Emphasis:
		if n.Level == 1 {
			return p.marked("*", l|emphasis, p.inline(n, l|emphasis))
		}
		return p.marked("**", l|strong, p.inline(n, l|strong))
	case *astext.Strikethrough:
		return p.marked("~~", l|struck, p.inline(n, l|struck))
	case *ast.Link:
		return p.address(p.inline(n, l|link), n.Destination, l)
	case *ast.Image:
		return p.address(append([]span{{"image: ", l | faint}}, p.inline(n, l)...), n.Destination, l)
	case *ast.AutoLink:
		return []span{{p.Clean(string(n.Label(p.source))), l | link}}
	case *ast.RawHTML:
		return []span{{p.html(n.Segments.Value(p.source)), l}}
	}
	return p.inline(n, l)
}

// marked puts marks around what could not be told from its surroundings without them.
func (p *page) marked(mark string, l look, inner []span) []span {
	if p.Colour {
		return inner
	}
	return append(append([]span{{mark, l}}, inner...), span{mark, l})
}

// codeSpan is a code span's text: nothing in it is an escape.
func (p *page) codeSpan(n ast.Node, l look) (spans []span) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			spans = append(spans, span{strings.ReplaceAll(p.Clean(string(t.Value(p.source))), "\n", " "), l})
		}
	}
	return spans
}

// address shows where a link leads, unless its text is that already.
func (p *page) address(label []span, to []byte, l look) []span {
	url := flat(p.text(to, false))
	var shown strings.Builder
	for _, s := range label {
		shown.WriteString(s.text)
	}
	if url == "" || shown.String() == url || "mailto:"+shown.String() == url {
		return label
	}
	if shown.Len() == 0 {
		return []span{{url, l | link}}
	}
	return append(label, span{" (" + url + ")", l | faint})
}

// html is markup as it was written: it has no meaning here, but for line breaks, which models like in tables.
func (p *page) html(tag []byte) string {
	if name := strings.ToLower(strings.Trim(string(tag), "</ >")); name == "br" {
		return "\n"
	}
	return p.Clean(string(tag))
}

// text resolves escapes and entities, then drops what could drive the terminal: an entity may stand for any character.
func (p *page) text(raw []byte, literal bool) string {
	if literal || !bytes.ContainsAny(raw, `\&`) {
		return p.Clean(string(raw))
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw) && util.IsPunct(raw[i+1]):
			b.WriteByte(raw[i+1])
			i += 2
		case c == '&':
			n := bytes.IndexByte(raw[i:], ';') + 1
			if n == 0 {
				n = 1
			}
			b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(raw[i : i+n])))
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return p.Clean(b.String())
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }
