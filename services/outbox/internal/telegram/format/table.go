package format

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	between = " │ "
	crossed = "─┼─"
	widest  = 40 // columns of a cell that others are aligned with; what is wider sticks out
	padded  = 6  // times the text that an aligned table may take
)

// table is a table as text of a fixed width.
func (r *renderer) table(n *extast.Table) string {
	var rows [][]string // the first is the head
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, r.cell(c))
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		return ""
	}
	widths := columns(rows)
	var b strings.Builder
	for i, row := range rows {
		b.WriteString(strings.TrimRight(set(row, widths, n.Alignments), " "))
		b.WriteByte('\n')
		if i > 0 {
			continue
		}
		for j, w := range widths {
			if j > 0 {
				b.WriteString(crossed)
			}
			b.WriteString(strings.Repeat("─", max(w, 1)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell is the text of a cell, on one line.
func (r *renderer) cell(n ast.Node) string {
	c := renderer{source: r.source, out: &builder{bare: true}}
	c.inline(n)
	return strings.Join(strings.Fields(string(c.out.text)), " ")
}

// columns says how wide each column is: zero all, if to align the table would make it many times as long.
func columns(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	size, total := 0, 0
	for _, row := range rows {
		for j, cell := range row[:min(len(row), len(widths))] {
			widths[j] = max(widths[j], min(displaywidth.String(cell), widest))
			size += len(cell) + len(between)
		}
	}
	for _, w := range widths {
		total += w * len(rows)
	}
	if total > padded*size {
		clear(widths)
	}
	return widths
}

// set lays out one row.
func set(row []string, widths []int, align []extast.Alignment) string {
	var b strings.Builder
	for j, w := range widths {
		if j > 0 {
			b.WriteString(between)
		}
		cell := ""
		if j < len(row) {
			cell = row[j]
		}
		left, right := 0, max(0, w-displaywidth.String(cell))
		if j < len(align) {
			switch align[j] {
			case extast.AlignRight:
				left, right = right, 0
			case extast.AlignCenter:
				left, right = right/2, right-right/2
			case extast.AlignLeft, extast.AlignNone:
			}
		}
		b.WriteString(strings.Repeat(" ", left) + cell + strings.Repeat(" ", right))
	}
	return b.String()
}
