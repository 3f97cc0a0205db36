package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/registry"
)

const module = "github.com/jetclaw/jetclaw/"

// docs is what the comments and constants of the contract packages say, by "<package path>.<Type>[.<Field>]".
type docs struct {
	text   map[string]string
	values map[string][]value // the constants of a string type, in their order
}

type value struct{ text, doc string }

// parseDocs reads the source of every package that the registry takes a type from.
func parseDocs(root string) (*docs, error) {
	d := &docs{text: map[string]string{}, values: map[string][]value{}}
	var paths []string
	for _, t := range registry.All() {
		if p := reflect.TypeOf(t.Zero).PkgPath(); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	for _, path := range paths {
		if err := d.addPackage(root, path); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return d, nil
}

func (d *docs) addPackage(root, path string) error {
	names, err := filepath.Glob(filepath.Join(root, strings.TrimPrefix(path, module), "*.go"))
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, path)
	if err != nil {
		return err
	}
	for _, t := range pkg.Types {
		name := path + "." + t.Name
		d.text[name] = line(t.Doc)
		for _, spec := range t.Decl.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok {
				d.addFields(name, s)
			}
		}
		for _, c := range t.Consts {
			if err := d.addValues(name, c.Decl); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *docs) addFields(typ string, spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		text := line(f.Doc.Text() + " " + f.Comment.Text())
		for _, name := range f.Names {
			d.text[typ+"."+name.Name] = text
		}
	}
}

func (d *docs) addValues(typ string, decl *ast.GenDecl) error {
	for _, spec := range decl.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, v := range s.Values {
			lit, ok := v.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return fmt.Errorf("%s: constants of a contract are string literals", typ)
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				return err
			}
			d.values[typ] = append(d.values[typ], value{text, line(s.Doc.Text() + " " + s.Comment.Text())})
		}
	}
	return nil
}

// line is a comment as one line.
func line(comment string) string { return strings.Join(strings.Fields(comment), " ") }

func (d *docs) typeDoc(t reflect.Type) string { return d.text[t.PkgPath()+"."+t.Name()] }

// fieldDoc is the comment of a field of t, which may be promoted from an embedded struct.
func (d *docs) fieldDoc(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return d.text[t.PkgPath()+"."+t.Name()+"."+f.Name]
}
