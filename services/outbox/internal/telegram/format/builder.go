package format

import (
	"slices"
	"strings"
	"unicode"
)

// builder writes text and keeps the entities of it.
type builder struct {
	text     []byte
	units    int
	entities []Entity
	open     []int    // of entities: those that are not closed, the outermost first
	prefix   []string // what a line begins with: one for each list around it
	fresh    bool     // at the beginning of a line: its prefix is not written yet
	bare     bool     // no entities: for a table's cell
}

// put writes text without line breaks, or line breaks without text.
func (b *builder) put(s string) {
	b.text = append(b.text, s...)
	b.units += Units(s)
}

// indent begins a line, if that is to be done.
func (b *builder) indent() {
	if b.fresh {
		b.fresh = false
		for _, p := range b.prefix {
			b.put(p)
		}
	}
}

// write adds a text. Lines that have something in them begin with the prefix.
func (b *builder) write(s string) {
	for s != "" {
		line, rest, more := strings.Cut(s, "\n")
		if line != "" {
			b.indent()
			b.put(line)
		}
		if more {
			b.put("\n")
			b.fresh = true
		}
		s = rest
	}
}

// breaks makes the text end with n line breaks at least, unless there is none yet.
func (b *builder) breaks(n int) {
	if len(b.text) == 0 {
		return
	}
	for i := len(b.text) - 1; i >= 0 && b.text[i] == '\n' && n > 0; i-- {
		n--
	}
	b.put(strings.Repeat("\n", n))
	b.fresh = true
}

// line goes to the beginning of a line: after a list's bullet, a block needs one of its own.
func (b *builder) line() {
	if !b.fresh {
		b.breaks(1)
	}
}

// in reports whether an entity of a type is open.
func (b *builder) in(kind string) bool {
	return slices.ContainsFunc(b.open, func(i int) bool { return b.entities[i].Type == kind })
}

// begin opens an entity and reports whether it did: there is no bold within bold. What was opened is ended with end.
func (b *builder) begin(e Entity) bool {
	if b.bare || b.in(e.Type) {
		return false
	}
	b.indent()
	e.Offset = b.units
	b.open = append(b.open, len(b.entities))
	b.entities = append(b.entities, e)
	return true
}

// end closes the innermost entity.
func (b *builder) end() {
	last := len(b.open) - 1
	e := &b.entities[b.open[last]]
	e.Length = b.units - e.Offset
	b.open = b.open[:last]
}

// alone writes text of an entity that lies in no other: those that are open end before it and go on after it.
func (b *builder) alone(e Entity, s string) {
	if b.bare {
		b.put(s)
		return
	}
	for _, i := range b.open {
		b.entities[i].Length = b.units - b.entities[i].Offset
	}
	e.Offset, e.Length = b.units, Units(s)
	b.put(s)
	b.entities = append(b.entities, e)
	for i, was := range b.open {
		again := b.entities[was]
		again.Offset, again.Length = b.units, 0
		b.open[i] = len(b.entities)
		b.entities = append(b.entities, again)
	}
}

// drop closes the innermost entity as if it had never been opened.
func (b *builder) drop() {
	i := b.open[len(b.open)-1]
	b.end()
	b.entities[i].Length = 0
}

// finish returns the text, trimmed, and its entities.
func (b *builder) finish() (string, []Entity) {
	all := string(b.text)
	text := strings.TrimLeftFunc(all, unicode.IsSpace)
	before := Units(all[:len(all)-len(text)])
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	for i := range b.entities {
		b.entities[i].Offset -= before
	}
	return text, tight(text, b.entities)
}

// tight makes entities begin and end with something other than whitespace, within the text, and drops those that have
// nothing in them. What lay within another still does. The result is sorted.
func tight(text string, entities []Entity) []Entity {
	if len(entities) == 0 {
		return nil
	}
	n := Units(text)
	begin := make([]int32, n+1) // where the first character that is no whitespace begins, from here on
	end := make([]int32, n+1)   // where the last one ends, up to here
	u, last := 0, int32(0)
	for _, r := range text {
		begin[u], end[u] = -1, last
		if w := unitsOf(r); w == 2 { // nobody is to begin or end in the middle of it
			begin[u+1], end[u+1] = -1, last
		}
		if !unicode.IsSpace(r) {
			begin[u], last = int32(u), int32(u+unitsOf(r))
		}
		u += unitsOf(r)
	}
	begin[n], end[n] = int32(n), last
	for i := n - 1; i >= 0; i-- {
		if begin[i] < 0 {
			begin[i] = begin[i+1]
		}
	}
	var out []Entity
	for _, e := range entities {
		from := begin[min(max(e.Offset, 0), n)]
		to := end[min(max(e.Offset+e.Length, 0), n)]
		if e.Offset, e.Length = int(from), int(to-from); e.Length > 0 {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return out
}
