package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columns prints rows as a table: the first column and those that are texts begin at the left, figures end at the right.
// Cells are plain text of one line.
type columns struct {
	right []bool // by column
	rows  [][]string
}

func (c *columns) row(cells ...string) { c.rows = append(c.rows, cells) }

func (c *columns) print(out io.Writer) error {
	var widths []int
	for _, r := range c.rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range c.rows {
		var line strings.Builder
		for i, cell := range r {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < len(c.right) && c.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
