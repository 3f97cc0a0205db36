// Package markdown shows Markdown on a terminal while it is still being written. A Splitter cuts a growing text into pieces
// that are complete; a Renderer turns each into lines. Where the text was cut on its way changes nothing of what is shown,
// and what is shown is never taken back.
//
// The text is a stranger's. Nothing in it gets to drive the terminal: every character passes Options.Clean after all
// escapes and entities of Markdown are resolved (&#27; is an Escape), and the only sequences in the output are colours and
// weights that this package chose. A link always shows where it leads; nothing is clickable that looks like something else.
//
// The parser is goldmark; glamour, which is made for this, is not used: its highlighter and sanitiser are set up when the
// process starts, whether or not anything is shown (40 ms and 13 MB for `jetclaw version`, 11 MB of binary), and it lets
// entities through to the terminal. Colours are those 16 that every terminal theme defines, so that nobody has to ask the
// terminal whether it is dark.
package markdown

import (
	"strings"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// narrowest is the least width that text is set in: below it wrapping only makes things worse.
const narrowest = 16

// Options say how to render.
type Options struct {
	Width  int                 // columns that text is wrapped to; code and long words may be wider
	Colour bool                // without: emphasis keeps its marks
	Clean  func(string) string // drops from a text what could drive a terminal; required
}

// Renderer turns pieces into lines. It is for one goroutine.
type Renderer struct {
	Options
	parser parser.Parser
}

// New makes a renderer.
func New(o Options) *Renderer {
	if o.Clean == nil {
		panic("markdown.New: Options.Clean is required")
	}
	o.Width = max(o.Width, narrowest)
	// Without definitions of link references: they would vanish from the screen, and a piece does not know those of the next.
	// Without linkify: an address is readable as it is.
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithInlineParsers(util.Prioritized(extension.NewStrikethroughParser(), 500)),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	return &Renderer{Options: o, parser: p}
}

// Render returns the lines of a piece, each with its line break.
func (r *Renderer) Render(p Piece) string {
	var lines []line
	switch p.Kind {
	case Block:
		lines = r.parsed(p.Text)
	case CodeBegins:
		lines = []line{r.fence(p.Text)}
	case CodeLine:
		lines = []line{r.code(p.Text)}
	case CodeEnds:
		lines = []line{r.fence("")}
	case Plain:
		for s := range strings.Lines(p.Text) {
			lines = append(lines, r.raw(s, 0))
		}
	}
	var b strings.Builder
	if p.Gap {
		b.WriteByte('\n')
	}
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.text, " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// parsed renders a block. What the parser trips over is shown as it was written: losing the answer would be worse.
func (r *Renderer) parsed(src string) (lines []line) {
	defer func() {
		if recover() != nil {
			lines = []line{r.raw(src, 0)}
		}
	}()
	source := []byte(src)
	doc := r.parser.Parse(text.NewReader(source))
	return (&page{Renderer: r, source: source}).children(doc, r.Width, true)
}

// All renders a whole text.
func (r *Renderer) All(text string) string {
	var s Splitter
	var b strings.Builder
	for _, p := range append(s.Add(text), s.End()...) {
		b.WriteString(r.Render(p))
	}
	return b.String()
}
