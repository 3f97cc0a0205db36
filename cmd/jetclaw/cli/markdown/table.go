package markdown

import (
	"strings"

	astext "github.com/yuin/goldmark/extension/ast"
)

const (
	between   = " │ "
	thinnest  = 6 // columns of a table's column; where that does not fit, rows become records
	underRule = "─┼─"
)

func (p *page) table(n *astext.Table, width int) []line {
	var rows [][][]span // row, column, text; the first is the head
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]span
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			l := look(0)
			if len(rows) == 0 {
				l = strong
			}
			cells = append(cells, p.inline(c, l))
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil
	}
	widths := p.columns(rows, width-(len(rows[0])-1)*widthOf(between))
	if widths == nil {
		return p.records(rows, width)
	}
	var lines []line
	for i, row := range rows {
		lines = append(lines, p.row(row, widths, n.Alignments)...)
		if i == 0 {
			rules := make([]string, len(widths))
			for j, w := range widths {
				rules[j] = strings.Repeat("─", w)
			}
			lines = append(lines, p.raw(strings.Join(rules, underRule), faint))
		}
	}
	return lines
}

// columns shares out room, taking it from the widest; nil when there is not enough.
func (p *page) columns(rows [][][]span, room int) []int {
	widths := make([]int, len(rows[0]))
	total := 0
	for _, row := range rows {
		for j, cell := range row[:min(len(row), len(widths))] {
			for _, l := range p.wrap(cell, 1<<20) {
				widths[j] = max(widths[j], l.width)
			}
		}
	}
	for _, w := range widths {
		total += w
	}
	for total > room {
		widest := 0
		for j, w := range widths {
			if w > widths[widest] {
				widest = j
			}
		}
		if widths[widest] <= thinnest {
			return nil
		}
		// A long way at a time while one column is far too wide.
		take := min(total-room, max(1, widths[widest]-max(room/len(widths), thinnest)), widths[widest]-thinnest)
		widths[widest] -= take
		total -= take
	}
	return widths
}

func (p *page) row(cells [][]span, widths []int, align []astext.Alignment) []line {
	set := make([][]line, len(widths))
	height := 1
	for j := range widths {
		if j < len(cells) {
			set[j] = p.wrap(cells[j], widths[j])
		}
		height = max(height, len(set[j]))
	}
	lines := make([]line, height)
	for i := range lines {
		var b strings.Builder
		for j, w := range widths {
			var l line
			if i < len(set[j]) {
				l = set[j][i]
			}
			left, right := 0, max(0, w-l.width)
			switch {
			case j < len(align) && align[j] == astext.AlignRight:
				left, right = right, 0
			case j < len(align) && align[j] == astext.AlignCenter:
				left, right = right/2, right-right/2
			}
			if j > 0 {
				b.WriteString(between)
			}
			b.WriteString(strings.Repeat(" ", left) + l.text + strings.Repeat(" ", right))
			lines[i].width += left + l.width + right
		}
		lines[i].text = b.String()
		lines[i].width += (len(widths) - 1) * widthOf(between)
	}
	return lines
}

// records shows a table that is too wide as one line a cell.
func (p *page) records(rows [][][]span, width int) (lines []line) {
	head := rows[0]
	if len(rows) == 1 {
		rows = append(rows, nil)
	}
	for i, row := range rows[1:] {
		if i > 0 {
			lines = append(lines, line{})
		}
		for j := range head {
			spans := append(append([]span(nil), head[j]...), span{": ", 0})
			if j < len(row) {
				spans = append(spans, row[j]...)
			}
			lines = append(lines, p.wrap(spans, width)...)
		}
	}
	return lines
}
