package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
)

// environment is what of package os reads flags and the environment.
var environment = []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Args", "UserHomeDir", "UserConfigDir"}

func envInCmd(f *file, r report) {
	// A golden test has its -update, and a test may start itself again as another process.
	if f.layer == "cmd" || f.layer == "loadtest" || f.test || within(f.dir, "bus/actor/actortest", "bus/bustest") {
		return
	}
	f.selectors("os", func(name string, line int) {
		if slices.Contains(environment, name) {
			r(f.path, line, "os.%s", name)
		}
	})
	for _, imp := range f.imports {
		if imp.path == "flag" || imp.path == "github.com/spf13/pflag" || imp.path == "github.com/spf13/cobra" {
			r(f.path, imp.line, "imports %s", imp.path)
		}
	}
}

// wireName finds literals that begin as one of our subjects, name a stream of ours, or use JetStream's own API subjects.
var wireName = regexp.MustCompile(`^(ev|tail|svc|live|timer|worker|schedule|sys)\.([a-z*>%{]|$)|^(EV|TIMERS|SYS|DEAD)$|\$(JS|KV|O|SYS)\.`)

func namesInSubject(f *file, r report) {
	// This package writes the names down to find them. Tests compare with the wire, to the letter.
	if f.test || within(f.dir, "schemas/subject", "bus", "cmd/internal/archtest") {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && wireName.MatchString(s) {
			r(f.path, f.line(lit.Pos()), "%s spelled out", lit.Value)
		}
		return true
	})
}
