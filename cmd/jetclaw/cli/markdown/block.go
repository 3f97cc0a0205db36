package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	astext "github.com/yuin/goldmark/extension/ast"
)

// children renders blocks one below the other.
func (p *page) children(n ast.Node, width int, gaps bool) (lines []line) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if gaps && len(lines) > 0 {
			lines = append(lines, line{})
		}
		lines = append(lines, p.block(c, max(width, narrowest))...)
	}
	return lines
}

func (p *page) block(n ast.Node, width int) []line {
	switch n := n.(type) {
	case *ast.Heading:
		return p.heading(n, width)
	case *ast.Blockquote:
		return indented(p.children(n, width-2, true), "│ ", "│ ")
	case *ast.List:
		return p.list(n, width)
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Value(p.source))
		}
		return p.codeBlock(n, info)
	case *ast.CodeBlock:
		return p.codeBlock(n, "")
	case *ast.HTMLBlock:
		return p.htmlBlock(n, width)
	case *ast.ThematicBreak:
		return p.wrap([]span{{strings.Repeat("─", min(width, 40)), faint}}, width)
	case *astext.Table:
		return p.table(n, width)
	}
	return p.wrap(p.inline(n, 0), width)
}

func (p *page) heading(n *ast.Heading, width int) []line {
	spans := p.inline(n, title)
	if !p.Colour || n.Level > 2 {
		spans = append([]span{{strings.Repeat("#", n.Level) + " ", title}}, spans...)
	}
	return p.wrap(spans, width)
}

// indented puts one prefix before the first line and another before the others.
func indented(lines []line, first, others string) []line {
	out := make([]line, len(lines))
	for i, l := range lines {
		prefix := others
		if i == 0 {
			prefix = first
		}
		out[i] = l.after(prefix)
	}
	return out
}

func (p *page) list(n *ast.List, width int) (lines []line) {
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		}
		if len(lines) > 0 && !n.IsTight {
			lines = append(lines, line{})
		}
		item := p.children(c, width-widthOf(mark), !n.IsTight)
		if len(item) == 0 {
			item = []line{{}}
		}
		lines = append(lines, indented(item, mark, strings.Repeat(" ", widthOf(mark)))...)
	}
	return lines
}

// codeBlock is not wrapped, nor indented: it is there to be copied.
func (p *page) codeBlock(n ast.Node, language string) []line {
	lines := []line{p.fence(language)}
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		lines = append(lines, p.code(strings.TrimSuffix(string(at.Value(p.source)), "\n")))
	}
	return append(lines, p.fence(""))
}

func (p *page) htmlBlock(n *ast.HTMLBlock, width int) (lines []line) {
	src := n.Lines().Value(p.source)
	if n.HasClosure() {
		src = append(src, n.ClosureLine.Value(p.source)...)
	}
	return p.wrap([]span{{strings.TrimRight(p.Clean(string(src)), "\n"), 0}}, width)
}

// fence is the line above or below code.
func (r *Renderer) fence(language string) line { return r.raw("```"+language, faint) }

// code is a line of code.
func (r *Renderer) code(s string) line { return r.raw(s, mono) }

// raw is a line as it was written.
func (r *Renderer) raw(s string, l look) line {
	var b painter
	b.colour = r.Colour
	if s = strings.TrimRight(r.Clean(s), "\n"); s != "" {
		b.write(s, l)
	}
	return b.line()
}
