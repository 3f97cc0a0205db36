package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bytes that a part may take of a request, as JSON: room is left for all that is not the text and its entities.
const (
	maxPart = MaxBytes - 4<<10
	wrapped = 80 // bytes of an entity without its strings
)

// narrowest is the least limit: a surrogate pair is not cut.
const narrowest = 2

// Split cuts a text into parts of at most limit code units; a limit below 2 is taken as 2, one above MaxUnits as MaxUnits. The
// entities are as Render makes them: sorted, within each other or side by side; those that reach out of the text are clipped. It cuts between blocks,
// else between lines, else at spaces, as long as that fills half a part; else anywhere that cuts no grapheme cluster, unless
// that is itself longer than the limit. An entity that spans a border ends there and begins again in the next part.
// Whitespace at a border is lost, and so is a part with nothing to see in it: the server would refuse it. There is no part for
// a text with nothing to see in it.
func Split(text string, entities []Entity, limit int) (parts []Part) {
	s := splitter{text: text, limit: min(max(limit, narrowest), MaxUnits), entities: entities}
	for {
		rest := strings.TrimLeftFunc(s.text[s.at:], unicode.IsSpace)
		s.advance(len(s.text) - len(rest))
		if rest == "" {
			return parts
		}
		stop := s.reach()
		if stop < len(s.text) {
			stop = s.cut(stop)
		}
		if p := s.part(stop); visible(p.Text) {
			parts = append(parts, p)
		}
		s.advance(stop)
	}
}

// splitter is on its way through a text.
type splitter struct {
	text     string
	limit    int
	at, unit int      // where the next part begins, in bytes and in code units
	entities []Entity // those that begin there or later
	open     []Entity // those that began before and are not over, outer ones first
}

// advance goes on to a byte of the text.
func (s *splitter) advance(to int) {
	s.unit += Units(s.text[s.at:to])
	s.at = to
	for len(s.entities) > 0 && s.entities[0].Offset < s.unit {
		s.open = append(s.open, s.entities[0])
		s.entities = s.entities[1:]
	}
	still := s.open[:0]
	for _, e := range s.open {
		if e.Offset+e.Length > s.unit {
			still = append(still, e)
		}
	}
	s.open = still
}

// reach is the byte up to which one part can hold the text: at least one character.
func (s *splitter) reach() int {
	size, count, units, next := 0, len(s.open), 0, 0
	for _, e := range s.open {
		size += e.bytes()
	}
	for i, r := range s.text[s.at:] {
		for ; next < len(s.entities) && s.entities[next].Offset <= s.unit+units; next++ {
			count++
			size += s.entities[next].bytes()
		}
		units += unitsOf(r)
		size += escaped(r)
		if i > 0 && (units > s.limit || count > MaxEntities || size > maxPart) {
			return s.at + i
		}
	}
	return len(s.text)
}

// part is the one that ends at a byte.
func (s *splitter) part(stop int) Part {
	text := strings.TrimRightFunc(s.text[s.at:stop], unicode.IsSpace)
	end := s.unit + Units(text)
	var entities []Entity
	take := func(e Entity) {
		from, to := max(e.Offset, s.unit), min(e.Offset+e.Length, end)
		e.Offset, e.Length = from-s.unit, to-from
		entities = append(entities, e)
	}
	for _, e := range s.open {
		take(e)
	}
	for _, e := range s.entities {
		if e.Offset >= end {
			break
		}
		take(e)
	}
	return Part{Text: text, Entities: fitting(text, tight(text, entities))}
}

// fitting drops what a part cannot hold even where it is cut as short as it can be: entities, never text.
func fitting(text string, entities []Entity) []Entity {
	size := 0
	for _, r := range text {
		size += escaped(r)
	}
	for i, e := range entities {
		size += e.bytes()
		if i == MaxEntities || size > maxPart {
			return entities[:i]
		}
	}
	return entities
}

// bytes is how much an entity takes in a request, at most.
func (e Entity) bytes() int {
	n := wrapped + len(e.Type)
	for _, s := range []string{e.URL, e.Language} {
		for _, r := range s {
			n += escaped(r)
		}
	}
	return n
}

// escaped is how many bytes a character has in JSON, at most.
func escaped(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n':
		return 2
	case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
