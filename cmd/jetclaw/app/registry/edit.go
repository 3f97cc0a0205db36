package registry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// errPlace says that the parser and this package do not mean the same place. Nothing has been written then.
var errPlace = errors.New("mcp.servers is written in a way that cannot be changed here; change it in an editor")

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\uFEFF"

// splice puts a text in place of a part of another.
type splice struct {
	start, end int
	text       string
}

// editor collects what is to be changed in a text.
type editor struct {
	page
	block   blockStyle
	flow    flowStyle
	front   bool // a new section goes before the others, not behind them
	splices []splice
}

// edited is text with the servers changed from old to wanted. text is a configuration that has been read without problems.
func edited(text []byte, old, wanted object, front bool) ([]byte, error) {
	body := bytes.TrimPrefix(text, []byte(byteOrderMark))
	file, err := parser.ParseBytes(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), 0) // it would count lines wrong
	if err != nil {
		return nil, err
	}
	e := &editor{page: pageOf(body), front: front}
	e.block = blockStyle{step: 2, newline: e.newline()}
	e.flow.quoteKeys = json.Valid(body)
	was, will := object{}, object{{"mcp", object{{"servers", wanted}}}}
	if len(old) > 0 {
		was = object{{"mcp", object{{"servers", old}}}}
	}
	if err := e.document(file, was, will); err != nil {
		return nil, err
	}
	out, err := e.apply()
	return append(text[:len(text)-len(body):len(text)-len(body)], out...), err
}

func (e *editor) document(file *ast.File, old, wanted object) error {
	var root ast.Node
	if len(file.Docs) > 0 {
		root = file.Docs[0].Body
	}
	m, ok := root.(*ast.MappingNode)
	switch {
	case !ok: // nothing but comments
		e.insert(e.end(), e.pairs(wanted, 0))
		return nil
	case m.IsFlowStyle:
		at := e.offset(m.Start.Position.Line, m.Start.Position.Column)
		return e.braces(at, old, wanted)
	}
	e.block.step = step(m)
	return e.section(m, 0, e.count()+1, old, wanted)
}

// step is how far the file indents: as its first section with something in it.
func step(root *ast.MappingNode) int {
	for _, mv := range root.Values {
		if inner, ok := mv.Value.(*ast.MappingNode); ok && !inner.IsFlowStyle && len(inner.Values) > 0 {
			if n := column(inner.Values[0]) - column(mv); n > 0 && n <= 8 {
				return n
			}
		}
	}
	return 2
}

func column(mv *ast.MappingValueNode) int { return mv.Key.GetToken().Position.Column }
func line(mv *ast.MappingValueNode) int   { return mv.Key.GetToken().Position.Line }

// end is the line behind which a new section of the file goes.
func (e *editor) end() int {
	n := e.count()
	for n > 0 && bytes.Equal(e.line(n), []byte("...")) {
		n--
	}
	return n
}

func (e *editor) pairs(section object, indent int) string {
	var b strings.Builder
	for _, entry := range section {
		b.WriteString(e.block.pair(entry, indent))
	}
	return b.String()
}

// insert puts whole lines behind a line.
func (e *editor) insert(line int, text string) {
	at := e.start(line + 1)
	if at > 0 && e.text[at-1] != '\n' {
		text = e.block.newline + text
	}
	e.splices = append(e.splices, splice{at, at, text})
}

// braces changes a section in braces.
func (e *editor) braces(at int, old, wanted object) error {
	if at >= len(e.text) || e.text[at] != '{' {
		return errPlace
	}
	text, end, err := e.flow.rewrite(e.text, at, old, wanted)
	e.splices = append(e.splices, splice{at, end, text})
	return err
}

// section changes a section with a line for each key. after is the line of its own key, next where something else begins.
func (e *editor) section(m *ast.MappingNode, after, next int, old, wanted object) error {
	indent := column(m.Values[0]) - 1
	kept, written, last := false, map[string]bool{}, after
	for i, mv := range m.Values {
		key, ok := mv.Key.(*ast.StringNode)
		if !ok {
			return errPlace
		}
		until := next
		if i+1 < len(m.Values) {
			until = line(m.Values[i+1])
		}
		before := last
		last = e.last(line(mv), indent, until)
		written[key.Value] = true
		switch decide(key.Value, old, wanted) {
		case keep:
			kept = true
		case remove:
			from, to := e.first(line(mv), indent, before), last
			if i+1 < len(m.Values) {
				for to+1 < until && e.blank(to+1) {
					to++
				}
			} else if kept {
				for from-1 > before && e.blank(from-1) {
					from--
				}
			}
			e.splices = append(e.splices, splice{start: e.start(from), end: e.start(to + 1)})
		case replace:
			kept = true
			if err := e.change(mv, last, until, old, wanted); err != nil {
				return err
			}
		}
	}
	news := e.pairs(added(wanted, func(key string) bool { return written[key] }), indent)
	switch {
	case news == "":
	case after > 0:
		e.insert(last, news)
	case e.front:
		e.insert(e.first(line(m.Values[0]), indent, 0)-1, news)
	default:
		e.insert(e.end(), news)
	}
	return nil
}

// change gives a key another value. Its old one ends in line last.
func (e *editor) change(mv *ast.MappingValueNode, last, next int, old, wanted object) error {
	key := mv.Key.GetToken()
	name := mv.Key.(*ast.StringNode).Value
	v, _ := wanted.get(name)
	was, _ := old.get(name)
	section, isSection := v.(object)
	before, _ := was.(object)
	m, ok := mv.Value.(*ast.MappingNode)
	if empty := len(section) == 0 && name != "servers"; ok && isSection && !empty && !m.IsFlowStyle && len(m.Values) > 0 {
		return e.section(m, key.Position.Line, next, before, section)
	}
	colon, err := e.colon(e.offset(key.Position.Line, key.Position.Column))
	if err != nil {
		return err
	}
	return e.value(mv, valuePlace{line: key.Position.Line, last: last, indent: key.Position.Column - 1, colon: colon}, v, before)
}

// colon is the place behind the colon of the key that begins at.
func (e *editor) colon(at int) (int, error) {
	if at < len(e.text) && (e.text[at] == '"' || e.text[at] == '\'') {
		end, err := quotedEnd(e.text, at)
		if err != nil {
			return 0, err
		}
		at = end
	}
	for ; at < len(e.text) && e.text[at] != '\n'; at++ {
		if e.text[at] == ':' && (at+1 == len(e.text) || space(e.text[at+1])) {
			return at + 1, nil
		}
	}
	return 0, errPlace
}

// apply makes the text anew. Parts do not overlap, but for what is taken out twice.
func (e *editor) apply() ([]byte, error) {
	slices.SortStableFunc(e.splices, func(a, b splice) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, s := range e.splices {
		if s.start < at && s.text != "" {
			return nil, errPlace
		}
		if s.start, s.end = max(s.start, at), max(s.end, at); s.text == "" && s.start == s.end {
			continue
		}
		out = append(append(out, e.text[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, e.text[at:]...), nil
}
