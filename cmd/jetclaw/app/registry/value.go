package registry

import (
	"bytes"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// valuePlace is where the value of a key stands.
type valuePlace struct {
	line, last int // of the key, and the last one of its value
	indent     int // of the key
	colon      int // behind it
}

// value gives the key at a place another value. A comment behind an old value of one line stays.
func (e *editor) value(mv *ast.MappingValueNode, p valuePlace, v any, before object) error {
	end := p.colon + len(e.line(p.line)) - (p.colon - e.start(p.line)) // of the key's line
	at := p.colon
	for at < end && (e.text[at] == ' ' || e.text[at] == '\t') {
		at++
	}
	section, isSection := v.(object)
	_, none := mv.Value.(*ast.NullNode)
	if _, only := mv.Value.(*ast.CommentGroupNode); only {
		none = true
	}
	if at == end || e.text[at] == '#' { // nothing behind the colon
		switch {
		case none && isSection:
			e.insert(e.deeper(p), e.pairs(section, p.indent+e.block.step))
		case none:
			e.splices = append(e.splices, splice{p.colon, p.colon, " " + flowStyle{}.value(v)})
		default:
			e.wholly(p, v)
		}
		return nil
	}
	if isSection && e.text[at] == '{' {
		if items, _, err := flowItems(e.text, at); err != nil {
			return err
		} else if len(items) > 0 {
			return e.braces(at, before, section)
		}
	}
	stop, ok := e.inline(at, end, p)
	list, isList := v.([]string)
	switch {
	case !ok:
		e.wholly(p, v)
	case isSection:
		e.splices = append(e.splices, splice{p.colon, stop, ""})
		e.insert(p.last, e.pairs(section, p.indent+e.block.step))
	case isList && len(flowStyle{}.value(list)) > maxLine && len(bytes.TrimSpace(e.text[stop:end])) == 0:
		e.wholly(p, v)
	default:
		e.splices = append(e.splices, splice{at, stop, flowStyle{}.value(v)})
	}
	return nil
}

// wholly writes a value in place of all that stands between the colon and the end of the last line.
func (e *editor) wholly(p valuePlace, v any) {
	text := e.block.value(v, p.indent, p.colon-e.start(p.line))
	e.splices = append(e.splices, splice{p.colon, e.start(p.last + 1), text})
}

// deeper is the last line of the comments below a key without a value that are indented more than it.
func (e *editor) deeper(p valuePlace) int {
	line := p.line
	for next := line + 1; next <= e.count(); next++ {
		if e.blank(next) {
			continue
		}
		if n, ok := e.remark(next); !ok || n <= p.indent {
			break
		}
		line = next
	}
	return line
}

// inline is where a value ends that begins at and stands in the line of its key alone.
func (e *editor) inline(at, end int, p valuePlace) (stop int, ok bool) {
	var err error
	switch e.text[at] {
	case '{', '[':
		stop, err = valueEnd(e.text, at)
	case '"', '\'':
		stop, err = quotedEnd(e.text, at)
	case '|', '>':
		return 0, false
	default:
		stop = end
		for i := at; i < end; i++ {
			if e.text[i] == '#' && comment(e.text, i) {
				stop = i
				break
			}
		}
		stop = at + len(strings.TrimRight(string(e.text[at:stop]), " \t"))
	}
	return stop, err == nil && stop <= end && p.last == p.line
}
