package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Breach is one place that breaks a rule.
type Breach struct {
	Rule   string
	Where  string // path:line
	What   string
	Reason string // why the rule exists
}

func (b Breach) String() string {
	return fmt.Sprintf("%s: %s\n\trule %q: %s", b.Where, b.What, b.Rule, b.Reason)
}

// report takes a breach; line 0 means the file or folder as a whole.
type report func(where string, line int, format string, args ...any)

// rule checks the whole tree.
type rule struct {
	name   string
	reason string
	check  func(files []*file, r report)
}

// each makes a check of the whole tree out of one that looks at a file alone.
func each(check func(f *file, r report)) func([]*file, report) {
	return func(files []*file, r report) {
		for _, f := range files {
			check(f, r)
		}
	}
}

var rules = []rule{
	{
		"layers", "schemas ← bus ← services ← cmd: a contract or a mechanism that knows its users can no longer be changed, " +
			"tested or reused without them", each(layers),
	},
	{
		"schemas-std", "contracts use the standard library only: whoever reads our wire must not inherit our dependencies",
		each(schemasStd),
	},
	{
		"pure-machine", "a machine decides from its arguments alone, so that a replay decides the same; what it could import " +
			"beyond schemas and a few pure packages would let the clock, the network or chance in", each(pureMachine),
	},
	{
		"no-clock", "a machine is told the time (machine.View.Now, Event.Time); its own look at the clock makes a replay differ",
		each(noClock),
	},
	{
		"services-apart", "services meet in the journal and at micro endpoints only, so that each can run, fail and be replaced " +
			"alone; that holds for tests too, where such a knot begins. What several of them speak to third parties is in " +
			sharedWire + ", which knows none of them", each(servicesApart),
	},
	{
		"loadtest-outside", "loadtest measures what a user gets: it may use the built binary and the bus, never a service's insides",
		each(loadtestOutside),
	},
	{
		"env-in-cmd", "configuration, flags and secrets are read in cmd and handed down as arguments: one place to document, " +
			"redact and test", each(envInCmd),
	},
	{
		"names-in-subject", "subjects and names of streams are spelled out in schemas/subject (and used in bus) only: permissions, " +
			"filters and parsers must agree to the letter", each(namesInSubject),
	},
	{
		"file-size", fmt.Sprintf("a file has at most %d lines: more cannot be held in mind", maxLines), each(fileSize),
	},
	{
		"named-for-content", "a package or file is named for what it holds; " + strings.Join(emptyNames, ", ") + " hold anything",
		each(namedForContent),
	},
	{
		"package-comment", "each package has exactly one package comment that tells a stranger what it promises", packageComment,
	},
}

const maxLines = 800

var emptyNames = []string{"utils", "util", "helpers", "helper", "common", "types", "misc"}

// Check reads the module below root and returns what breaks a rule.
func Check(root fs.FS, module string) ([]Breach, error) {
	files, err := load(root, module)
	if err != nil {
		return nil, err
	}
	var found []Breach
	for _, ru := range rules {
		ru.check(files, func(where string, line int, format string, args ...any) {
			if line > 0 {
				where = fmt.Sprintf("%s:%d", where, line)
			}
			found = append(found, Breach{Rule: ru.name, Where: where, What: fmt.Sprintf(format, args...), Reason: ru.reason})
		})
	}
	return found, nil
}

// order of the layers; a file may import its own layer and those before it. loadtest stands beside cmd and has a rule of
// its own.
var order = []string{"schemas", "bus", "services", "cmd"}

// fakes begins the paths of loadtest's stand-ins for third parties, which speak their wire and may serve any test.
const fakes = "loadtest/fake/"

func layers(f *file, r report) {
	own := slices.Index(order, f.layer)
	if f.layer == "loadtest" {
		return
	}
	if own < 0 {
		r(f.path, 1, "Go code outside of %s and loadtest", strings.Join(order, ", "))
		return
	}
	for _, imp := range f.imports {
		if imp.local == "" || f.test && strings.HasPrefix(imp.local, fakes) {
			continue
		}
		if n := slices.Index(order, layerOf(imp.local)); n < 0 || n > own {
			r(f.path, imp.line, "%s imports %s", f.layer, imp.local)
		}
	}
}

func schemasStd(f *file, r report) {
	if f.layer != "schemas" || f.test {
		return
	}
	for _, imp := range f.imports {
		if imp.local == "" && !standard(imp.path) {
			r(f.path, imp.line, "schemas imports %s", imp.path)
		}
	}
}

// pureStd is what a machine may use of the standard library.
var pureStd = []string{
	"bytes", "cmp", "crypto/sha256", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt",
	"hash/fnv", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
}

func pureMachine(f *file, r report) {
	if !f.machine || f.test {
		return
	}
	for _, imp := range f.imports {
		switch {
		case imp.local != "" && (layerOf(imp.local) == "schemas" || pureSibling(f, imp.local)):
		case imp.local == "" && slices.Contains(pureStd, imp.path):
		default:
			r(f.path, imp.line, "machine %s imports %s", f.dir, imp.path)
		}
	}
}

// pureSibling says whether dir is another pure package of f's own service, held to the same rules.
func pureSibling(f *file, dir string) bool {
	parts := strings.Split(dir, "/")
	return serviceOf(dir) == f.service && len(parts) > 2 && parts[2] != "internal"
}

// clock is what of package time looks at the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func noClock(f *file, r report) {
	if !f.machine || f.test {
		return
	}
	f.selectors("time", func(name string, line int) {
		if slices.Contains(clock, name) {
			r(f.path, line, "machine %s uses time.%s", f.dir, name)
		}
	})
}

func servicesApart(f *file, r report) {
	if f.service == "" && !within(f.dir, sharedWire) {
		return
	}
	for _, imp := range f.imports {
		if to := serviceOf(imp.local); to != "" && to != f.service {
			r(f.path, imp.line, "%s imports %s", f.dir, imp.local)
		}
	}
}

func loadtestOutside(f *file, r report) {
	for _, imp := range f.imports {
		if f.layer == "loadtest" && imp.local != "" && !within(imp.local, "loadtest", "bus", "schemas") {
			r(f.path, imp.line, "loadtest imports %s", imp.local)
		}
	}
}

func fileSize(f *file, r report) {
	if f.lines > maxLines {
		r(f.path, 0, "%d lines", f.lines)
	}
}

func namedForContent(f *file, r report) {
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
	for _, name := range []string{base, path.Base(f.dir), strings.TrimSuffix(f.ast.Name.Name, "_test")} {
		if slices.Contains(emptyNames, name) {
			r(f.path, 0, "%q says nothing", name)
			return
		}
	}
}

func packageComment(files []*file, r report) {
	with := map[string][]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		if _, ok := with[f.dir]; !ok {
			with[f.dir] = nil
		}
		if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
			with[f.dir] = append(with[f.dir], path.Base(f.path))
		}
	}
	for dir, in := range with {
		switch len(in) {
		case 0:
			r(dir, 0, "no package comment")
		case 1:
		default:
			r(dir, 0, "package comments in %s", strings.Join(in, " and "))
		}
	}
}
