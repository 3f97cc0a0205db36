package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Position is a place in the file, counted from 1; zero when there is none.
type Position struct {
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Problem is one thing that is wrong, where, and what to do.
type Problem struct {
	File string `json:"file"`
	Position
	Path string `json:"path,omitempty"` // "channels.http.listen"
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Compare orders problems as they stand in the file.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Error holds all that is wrong with a configuration; at least one Problem.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is allowed, and has the consequence that it tells.
type Warning struct {
	File string `json:"file"`
	Position
	Path string `json:"path"`
	Text string `json:"text"`
}

func (w Warning) String() string {
	return Problem{File: w.File, Position: w.Position, Path: w.Path, Text: w.Text}.String()
}

// WarningAt is a warning about what stands at a path of the configuration.
func (c *Config) WarningAt(file, path, text string) Warning {
	return Warning{File: file, Position: c.at[path], Path: path, Text: text}
}
