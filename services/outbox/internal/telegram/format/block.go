package format

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// renderer writes one document.
type renderer struct {
	source []byte
	out    *builder
}

// children renders blocks one below the other.
func (r *renderer) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if before := c.PreviousSibling(); before != nil {
			r.out.breaks(gap(before, c))
		}
		r.block(c)
	}
}

// gap is how many line breaks there are between two blocks: an empty line, unless the writer left none after a heading or
// between a sentence and its list.
func gap(before, n ast.Node) int {
	if before.Kind() == ast.KindTextBlock {
		return 1
	}
	if n.Kind() != extast.KindTable && !n.HasBlankPreviousLines() &&
		(before.Kind() == ast.KindHeading || before.Kind() == ast.KindParagraph) {
		return 1
	}
	return 2
}

func (r *renderer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		r.within(Entity{Type: bold}, n)
	case *ast.Blockquote:
		r.quote(n)
	case *ast.List:
		r.list(n)
	case *ast.FencedCodeBlock:
		name := ""
		if n.Info != nil {
			name = language(n.Info.Value(r.source))
		}
		r.pre(string(n.Lines().Value(r.source)), name)
	case *ast.CodeBlock:
		r.pre(string(n.Lines().Value(r.source)), "")
	case *ast.HTMLBlock:
		r.html(n)
	case *ast.ThematicBreak:
		r.out.write("———")
	case *extast.Table:
		r.pre(r.table(n), "")
	default:
		r.inline(n)
	}
}

// quote has lines of its own, which do not show the lists that it lies in: Telegram sets it apart.
func (r *renderer) quote(n ast.Node) {
	if r.out.in(blockquote) {
		r.out.prefix = append(r.out.prefix, "> ")
		r.children(n)
		r.out.prefix = r.out.prefix[:len(r.out.prefix)-1]
		return
	}
	r.out.line()
	around := r.out.prefix
	r.out.prefix = nil
	opened := r.out.begin(Entity{Type: blockquote})
	r.out.fresh = true // for a quote within it
	r.children(n)
	if opened {
		r.out.end()
	}
	r.out.prefix = around
}

// list writes a bullet or a number before each item. The letters of Telegram have no common width, so that what is below is
// indented by about as much, and no more.
func (r *renderer) list(n *ast.List) {
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := "• "
		switch {
		case n.IsOrdered():
			mark = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		case task(c):
			mark = "" // the box is one
		}
		if c != n.FirstChild() {
			if n.IsTight {
				r.out.breaks(1)
			} else {
				r.out.breaks(2)
			}
		}
		r.out.indent()
		r.out.write(mark)
		r.out.prefix = append(r.out.prefix, "    ")
		r.children(c)
		r.out.prefix = r.out.prefix[:len(r.out.prefix)-1]
	}
}

// task reports whether an item begins with a box.
func task(item ast.Node) bool {
	first := item.FirstChild()
	if first == nil || first.FirstChild() == nil {
		return false
	}
	return first.FirstChild().Kind() == extast.KindTaskCheckBox
}

// pre writes what is shown as it was written, without the lists around it: it is there to be copied.
func (r *renderer) pre(s, lang string) {
	s = block(s)
	if s == "" {
		return
	}
	r.out.line()
	r.out.fresh = false
	r.out.alone(Entity{Type: pre, Language: lang}, s)
}

// block is a text as pre shows it: without empty lines around it. Telegram would cut off the indentation of the first line,
// and of no other: if it has one, all lose what they have in common.
func block(s string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\t", "    "), " \n")
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) != "" {
			break
		}
		s = s[len(line):]
	}
	common := indentOf(s)
	for line := range strings.Lines(s) {
		if common == 0 {
			return s
		}
		if strings.TrimSpace(line) != "" {
			common = min(common, indentOf(line))
		}
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		if len(line) > common {
			line = line[min(common, indentOf(line)):]
		} else {
			line = strings.TrimLeft(line, " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

var breakTag = regexp.MustCompile(`(?i)<br\s*/?>`)

// html is shown as it was written, but for line breaks.
func (r *renderer) html(n *ast.HTMLBlock) {
	src := n.Lines().Value(r.source)
	if n.HasClosure() {
		src = append(src, n.ClosureLine.Value(r.source)...)
	}
	r.out.write(strings.TrimRight(breakTag.ReplaceAllString(string(src), "\n"), "\n"))
}
