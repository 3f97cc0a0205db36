package format

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of what has a meaning. No answer comes near them; without them, some texts keep the parser busy for minutes.
const (
	deepest = 10       // lists and quotes within each other: each line is offered to all of them
	longest = 16 << 10 // bytes of a paragraph: each mark in it may look for its other half to its end
	busiest = 2000     // marks in a paragraph that may mean something: each may be compared with all others
	largest = 5000     // cells of all tables: short rows are filled up
	run     = 8        // marks of emphasis in a row: every two nest one level
)

// guard counts what a text has used of the bounds. It serves one parser, for one text.
type guard struct {
	block ast.Node // whose marks are counted
	marks int      // that may still mean something in it
	cells int
}

// newParser makes a parser for one text. It knows no definitions of link references: these would vanish from the text. Nor does
// it look for addresses: Telegram does.
func newParser() parser.Parser {
	g := &guard{cells: largest}
	bounded := func(p parser.InlineParser) parser.InlineParser { return boundedInline{p, g} }
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(boundedBlock{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(boundedBlock{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(bounded(extension.NewTaskCheckBoxParser()), 0),
			util.Prioritized(bounded(parser.NewCodeSpanParser()), 100),
			util.Prioritized(boundedLink{boundedInline{parser.NewLinkParser(), g}}, 200),
			util.Prioritized(bounded(parser.NewAutoLinkParser()), 300),
			util.Prioritized(bounded(parser.NewRawHTMLParser()), 400),
			util.Prioritized(bounded(parser.NewEmphasisParser()), 500),
			util.Prioritized(bounded(extension.NewStrikethroughParser()), 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(boundedTable{extension.NewTableParagraphTransformer(), g}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// boundedBlock opens no list or quote that lies in too many others.
type boundedBlock struct{ parser.BlockParser }

func (b boundedBlock) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindList || k == ast.KindBlockquote {
			depth++
		}
	}
	if depth >= deepest {
		return nil, parser.NoChildren
	}
	return b.BlockParser.Open(parent, reader, pc)
}

// allows reports whether one more mark of a paragraph may mean something.
func (g *guard) allows(block ast.Node) bool {
	if g.block != block {
		g.block, g.marks = block, busiest
		if lines := block.Lines(); lines.Len() > 0 && lines.At(lines.Len()-1).Stop-lines.At(0).Start > longest {
			g.marks = 0
		}
	}
	g.marks--
	return g.marks >= 0
}

// boundedInline is a parser of marks that gives up where there are too many.
type boundedInline struct {
	parser.InlineParser
	guard *guard
}

func (b boundedInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if !b.guard.allows(parent) {
		return nil
	}
	line, segment := block.PeekLine()
	switch mark := line[0]; mark {
	case '*', '_', '~':
		n := len(line) - len(bytes.TrimLeft(line, string(mark)))
		// "~5 km" is no beginning of anything, as a model writes it: to strike out takes two.
		if n > run || mark == '~' && n != 2 {
			block.Advance(n)
			return ast.NewTextSegment(segment.WithStop(segment.Start + n))
		}
	}
	return b.InlineParser.Parse(parent, block, pc)
}

// boundedLink also tells the parser of links that a paragraph is over.
type boundedLink struct{ boundedInline }

func (b boundedLink) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// boundedTable makes no table that would have many more cells than were written.
type boundedTable struct {
	parser.ParagraphTransformer
	guard *guard
}

func (b boundedTable) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, columns, size := node.Lines(), 0, 0
	for i := range lines.Len() {
		at := lines.At(i)
		line := at.Value(reader.Source())
		size += len(line)
		if len(bytes.Trim(line, "|:- \t\n")) == 0 {
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
	}
	cells := columns * lines.Len()
	if columns == 0 || cells > b.guard.cells || cells > size+64 {
		return
	}
	b.guard.cells -= cells
	b.ParagraphTransformer.Transform(node, reader, pc)
}

// rendered parses and renders a text. A text that the parser trips over is not lost: it is shown as it was written.
func rendered(source []byte) (out *builder, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	doc := newParser().Parse(text.NewReader(source))
	r := renderer{source: source, out: &builder{fresh: true}}
	r.children(doc)
	return r.out, true
}

// language is the name of a fence's language, if it looks like one.
func language(info []byte) string {
	name, _, _ := strings.Cut(strings.TrimSpace(string(info)), " ")
	if len(name) > 32 || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+-#._", r))
	}) {
		return ""
	}
	return name
}
