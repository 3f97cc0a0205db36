package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metric is a row of the table of metrics: its kind and its labels.
type metric struct {
	kind   string
	labels []string
}

// metricTable reads the table of jetclaw's metrics from its source: what is asked for elsewhere has to be in there.
func metricTable(t *testing.T) map[string]metric {
	t.Helper()
	path := filepath.Join(repoDir, "cmd", "jetclaw", "app", "telemetry", "names.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	lists := map[string][]string{}
	text := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return constants[e.Name]
		case *ast.BasicLit:
			s, _ := strconv.Unquote(e.Value)
			return s
		}
		return ""
	}
	var labelsOf func(e ast.Expr) []string
	labelsOf = func(e ast.Expr) []string {
		switch e := e.(type) {
		case *ast.Ident:
			return lists[e.Name]
		case *ast.CallExpr: // slices.Concat(model, []string{…})
			var all []string
			for _, part := range e.Args {
				all = append(all, labelsOf(part)...)
			}
			return all
		case *ast.CompositeLit:
			var all []string
			for _, l := range e.Elts {
				all = append(all, text(l))
			}
			return all
		}
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
			for i, name := range v.Names {
				constants[name.Name] = text(v.Values[i])
			}
		}
		return true
	})
	table := map[string]metric{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt: // own := []string{LabelService}
			if id, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 {
				lists[id.Name] = labelsOf(n.Rhs[0])
			}
		case *ast.CompositeLit: // {Turns, Counter, "{turn}", "…", []string{…}, nil, ""}
			if len(n.Elts) >= 5 {
				if name := text(n.Elts[0]); strings.Contains(name, "_") {
					table[name] = metric{text(n.Elts[1]), labelsOf(n.Elts[4])}
				}
			}
		}
		return true
	})
	if len(table) < 30 || table["jetclaw_turns_total"].kind != "counter" || !slices.Contains(table["jetclaw_turns_total"].labels, "outcome") {
		t.Fatalf("the table of metrics is not read as it is written: %d rows, %+v", len(table), table["jetclaw_turns_total"])
	}
	return table
}
