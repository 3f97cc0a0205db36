package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// file is one parsed Go file and where it stands in the house.
type file struct {
	path    string // slash-separated, from the module's root
	dir     string
	layer   string // first folder: "schemas", "bus", "services", "cmd", "loadtest"; "" at the root
	service string // "turns" below services/turns, else "": also below services/internal, which is nobody's
	machine bool   // in a pure machine: services/<service>/<noun>, noun not "internal"
	test    bool
	lines   int
	fset    *token.FileSet
	ast     *ast.File
	imports []imported
}

type imported struct {
	path  string // as written
	local string // folder in this module, "" for a package of others; "." for the root
	line  int
}

// load parses every Go file of the module below root.
func load(root fs.FS, module string) ([]*file, error) {
	var files []*file
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != "." && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, path.Join(p, "go.mod")); err == nil && p != "." { // another module: its rules are its own
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return nil
		}
		f, err := parse(root, module, p)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

func parse(root fs.FS, module, p string) (*file, error) {
	src, err := fs.ReadFile(root, p)
	if err != nil {
		return nil, err
	}
	f := &file{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
		lines: bytes.Count(src, []byte("\n")), fset: token.NewFileSet(),
	}
	if f.ast, err = parser.ParseFile(f.fset, p, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("parse %s: %w", p, err)
	}
	if parts := strings.Split(f.dir, "/"); f.dir != "." {
		f.layer = parts[0]
		f.service = serviceOf(f.dir)
		f.machine = f.service != "" && len(parts) > 2 && parts[2] != "internal" || f.dir == sharedMachine
	}
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", p, err)
		}
		f.imports = append(f.imports, imported{path: name, local: localOf(module, name), line: f.line(spec.Pos())})
	}
	return f, nil
}

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

func localOf(module, imp string) string {
	if imp == module {
		return "."
	}
	if rest, ok := strings.CutPrefix(imp, module+"/"); ok {
		return rest
	}
	return ""
}

// sharedWire holds what several services have in common and none owns: wires of third parties, the machine of executors.
const sharedWire = "services/internal"

// sharedMachine is the one machine in it.
const sharedMachine = sharedWire + "/execution"

// serviceOf is the service that a folder of this module belongs to, or "".
func serviceOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) > 1 && parts[0] == "services" && !within(dir, sharedWire) {
		return parts[1]
	}
	return ""
}

func layerOf(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// standard tells packages of the standard library: their first element has no dot.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// within says whether dir is one of the folders or below one.
func within(dir string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return dir == f || strings.HasPrefix(dir, f+"/")
	})
}

// selectors calls fn for each use of an exported name of the standard package imp in f, as in os.Getenv.
func (f *file) selectors(imp string, fn func(name string, line int)) {
	name := path.Base(imp)
	found := false
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == imp {
			found = true
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if !found {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				fn(sel.Sel.Name, f.line(sel.Pos()))
			}
		}
		return true
	})
}
