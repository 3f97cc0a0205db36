package markdown

import (
	"strings"

	"golang.org/x/net/html/atom"
)

const (
	maxColumns = 64
	maxCell    = 600 // bytes of a cell with blocks in it; a longer one is a layout
)

// table writes a table of data as one, and a table that only lays the page out as the blocks that it holds.
func (r *renderer) table(n *node) {
	rows, columns, layout := shape(n)
	r.w.line(2)
	for _, k := range n.kids {
		if k.tag == atom.Caption {
			r.node(k)
			r.w.line(2)
		}
	}
	if layout || columns < 2 || r.w.inline > 0 {
		for _, row := range rows {
			for _, c := range row {
				r.w.line(1)
				r.kids(c)
			}
			r.w.line(1)
		}
		r.w.line(2)
		return
	}
	columns = min(columns, maxColumns)
	for i, row := range rows {
		if r.w.full() {
			return
		}
		r.row(row)
		if i > 0 {
			continue
		}
		for range columns - len(row) {
			r.w.out = append(r.w.out, "  |"...)
		}
		r.w.line(1)
		r.w.begin()
		r.w.out = append(r.w.out, "|"+strings.Repeat(" --- |", columns)...)
	}
	r.w.line(2)
}

func (r *renderer) row(row []*node) {
	r.w.line(1)
	r.w.begin()
	r.w.out = append(r.w.out, '|')
	r.w.inline++
	r.w.cell = true
	for _, c := range row[:min(len(row), maxColumns)] {
		r.w.space = true
		r.kids(c)
		r.w.out = append(r.w.out, " |"...)
	}
	r.w.cell = false
	r.w.inline--
	r.w.space = false
}

// shape finds the rows and whether they are a layout. What stands in a table beside its rows is shown as a row.
func shape(n *node) (rows [][]*node, columns int, layout bool) {
	var walk func(n *node)
	walk = func(n *node) {
		for _, k := range n.kids {
			switch {
			case k.outside || k.tag == atom.Caption || k.size == 0 && k.tag != atom.Tr:
			case k.tag == atom.Thead, k.tag == atom.Tbody, k.tag == atom.Tfoot:
				walk(k)
			case k.tag != atom.Tr:
				rows, layout = append(rows, []*node{{kids: []*node{k}}}), true
			default:
				var row []*node
				for _, c := range k.kids {
					if c.tag == atom.Td || c.tag == atom.Th {
						row = append(row, c)
						layout = layout || holds(c, atom.Table) || c.block && c.size > maxCell
					} else if c.size > 0 {
						row = append(row, &node{kids: []*node{c}})
					}
				}
				if len(row) > 0 {
					rows = append(rows, row)
					columns = max(columns, len(row))
				}
			}
		}
	}
	walk(n)
	return rows, columns, layout
}
