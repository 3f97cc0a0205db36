package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
)

// scalar is a type of ours that reads itself from one value. The error never quotes the value: it may be a secret that
// somebody wrote into the file.
type scalar interface {
	parse(text string) error
}

// decoder sets a Config from the syntax tree, so that every problem has its place and all are found in one pass.
// A section without a value is as if it were not there.
type decoder struct {
	file     string
	at       map[string]Position
	problems []Problem
}

func (d *decoder) fail(n ast.Node, path, hint, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.file, Position: positionOf(n), Path: path, Text: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// positionOf is where a node begins: a block mapping's own token is its first colon.
func positionOf(n ast.Node) Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	p := n.GetToken().Position
	return Position{Line: p.Line, Column: p.Column}
}

func (d *decoder) document(data []byte, c *Config) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		p := Problem{File: d.file, Text: err.Error()}
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			if p.Text = ye.GetMessage(); strings.Contains(p.Text, "'\t'") {
				p.Text, p.Hint = "a tab begins a line or stands where it must not", "use spaces"
			}
			if t := ye.GetToken(); t != nil {
				p.Position = Position{Line: t.Position.Line, Column: t.Position.Column}
			}
		}
		d.problems = append(d.problems, p)
		return
	}
	for i, doc := range f.Docs {
		switch {
		case doc.Body == nil:
		case i > 0:
			d.fail(doc.Body, "", "keep one, without ---", "a second document in the file")
		default:
			d.value(doc.Body, reflect.ValueOf(c).Elem(), "")
		}
	}
}

func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	if empty(n) {
		return
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.indirect(n, path)
		return
	}
	if path != "" {
		d.at[path] = positionOf(n)
	}
	if s, ok := reflect.TypeAssert[scalar](v.Addr()); ok {
		d.scalar(n, s, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer: // a value that may be absent
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.dictionary(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	case reflect.String:
		if text, ok := textOf(n); ok {
			v.SetString(text)
		} else {
			d.wrongType(n, path, "text")
		}
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
		} else {
			d.wrongType(n, path, "true or false")
		}
	case reflect.Int:
		d.integer(n, v, path)
	default:
		panic("config: no way to read a " + v.Kind().String())
	}
}

// empty says whether nothing is written there.
func empty(n ast.Node) bool {
	switch n.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

func (d *decoder) indirect(n ast.Node, path string) {
	d.fail(n, path, "write the value out", "anchors, aliases and tags are not read here")
}

func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

func (d *decoder) scalar(n ast.Node, s scalar, path string) {
	text, ok := textOf(n)
	switch n := n.(type) { // as it is written: a float would lose digits
	case *ast.IntegerNode:
		text, ok = n.Token.Value, true
	case *ast.FloatNode:
		text, ok = n.Token.Value, true
	}
	if !ok {
		d.wrongType(n, path, "one value")
		return
	}
	if err := s.parse(text); err != nil {
		d.fail(n, path, "", "%s", err)
	}
}

func (d *decoder) integer(n ast.Node, v reflect.Value, path string) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		d.wrongType(n, path, "a whole number")
		return
	}
	x, err := strconv.ParseInt(strings.ReplaceAll(i.Token.Value, "_", ""), 0, 0)
	if err != nil {
		d.fail(n, path, "", "the number is out of range")
		return
	}
	v.SetInt(x)
}

func (d *decoder) structure(n ast.Node, v reflect.Value, path string) {
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		if name := keyOf(v.Type().Field(i)); name != "" {
			fields[name] = v.Field(i)
		}
	}
	d.mapping(n, path, func(key ast.Node, name string, value ast.Node) {
		f, ok := fields[name]
		if !ok {
			d.fail(key, join(path, name), suggest.Hint(name, slices.Sorted(maps.Keys(fields))), "unknown key")
			return
		}
		d.value(value, f, join(path, name))
	})
}

// keyOf is the key of a field; what a service defines has its names for JSON only.
func keyOf(f reflect.StructField) string {
	tag := f.Tag.Get("yaml")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	name, _, _ := strings.Cut(tag, ",")
	return name
}

func (d *decoder) dictionary(n ast.Node, v reflect.Value, path string) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	d.mapping(n, path, func(at ast.Node, name string, value ast.Node) {
		if empty(value) {
			if v.Type().Elem().Kind() == reflect.String { // nor is a name without a value there
				return
			}
			d.at[join(path, name)] = positionOf(at)
		}
		key, e := reflect.ValueOf(name), reflect.New(v.Type().Elem()).Elem()
		if def := defaultOf(path); def != nil {
			e.Set(reflect.ValueOf(def))
		}
		d.value(value, e, join(path, name))
		v.SetMapIndex(key, e)
	})
}

func (d *decoder) mapping(n ast.Node, path string, entry func(key ast.Node, name string, value ast.Node)) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.wrongType(n, path, "a section (key: value)")
		return
	}
	seen := map[string]bool{}
	for _, mv := range m.Values {
		name, ok := textOf(mv.Key)
		switch {
		case !ok && mv.Key.IsMergeKey():
			d.fail(mv.Key, path, "write the keys out", "merge keys are not read here")
		case !ok:
			d.fail(mv.Key, path, "put it in quotes", "this key is not text")
		case seen[name]:
			d.fail(mv.Key, join(path, name), "keep one of them", "the key is given twice")
		default:
			seen[name] = true
			entry(mv.Key, name, mv.Value)
		}
	}
}

func (d *decoder) list(n ast.Node, v reflect.Value, path string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrongType(n, path, "a list ([a, b])")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values)))
	for i, e := range s.Values {
		d.value(e, v.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
}

func (d *decoder) wrongType(n ast.Node, path, want string) {
	kind, hint := "something else", ""
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		kind = "text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		kind = "a number"
	case *ast.BoolNode:
		kind = "true or false"
	case *ast.MappingNode:
		kind = "a section"
	case *ast.SequenceNode:
		kind = "a list"
	}
	if want == "text" && (kind == "a number" || kind == "true or false") {
		hint = "put it in quotes"
	}
	d.fail(n, path, hint, "this is %s, but %s is expected", kind, want)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
