package format

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inline renders what is in a paragraph.
func (r *renderer) inline(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.one(c)
	}
}

func (r *renderer) one(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		r.text(n.Value(r.source), n.IsRaw())
		if n.SoftLineBreak() || n.HardLineBreak() { // in a chat a line break is meant
			r.out.write("\n")
		}
	case *ast.String:
		r.text(n.Value, n.IsRaw())
	case *ast.CodeSpan:
		r.code(n)
	case *ast.Emphasis:
		kind := bold
		if n.Level == 1 {
			kind = italic
		}
		r.within(Entity{Type: kind}, n)
	case *extast.Strikethrough:
		r.within(Entity{Type: strike}, n)
	case *extast.TaskCheckBox:
		if n.IsChecked {
			r.out.write("☑ ")
		} else {
			r.out.write("☐ ")
		}
	case *ast.Link:
		r.link(n, n.Destination)
	case *ast.Image:
		r.image(n)
	case *ast.AutoLink: // Telegram finds it by itself
		r.out.write(string(n.Label(r.source)))
	case *ast.RawHTML:
		r.out.write(breakTag.ReplaceAllString(string(n.Segments.Value(r.source)), "\n"))
	default:
		r.inline(n)
	}
}

// within renders a node's children in an entity.
func (r *renderer) within(e Entity, n ast.Node) {
	opened := r.out.begin(e)
	r.inline(n)
	if opened {
		r.out.end()
	}
}

// code writes a code span, in which nothing is an escape. Where it cannot be an entity it is text.
func (r *renderer) code(n ast.Node) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(r.source))
		}
	}
	s := strings.ReplaceAll(b.String(), "\n", " ")
	switch {
	case r.out.in(textLink):
		r.out.write(s)
	case r.out.in(blockquote):
		r.out.write("`" + s + "`")
	default:
		r.out.indent()
		r.out.alone(Entity{Type: code}, s)
	}
}

func (r *renderer) text(raw []byte, literal bool) {
	if literal {
		r.out.write(string(raw))
		return
	}
	r.out.write(decode(raw))
}

// reference is the most bytes that a character reference has: &CounterClockwiseContourIntegral; and its semicolon.
const reference = 34

// decode resolves backslashes and character references, which may stand for what was cleaned away.
func decode(raw []byte) string {
	if !bytes.ContainsAny(raw, `\&`) {
		return string(raw)
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw) && util.IsPunct(raw[i+1]):
			b.WriteByte(raw[i+1])
			i += 2
		case c == '&':
			n := max(1, bytes.IndexByte(raw[i:min(len(raw), i+reference)], ';')+1)
			b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(raw[i : i+n])))
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return clean(b.String())
}
