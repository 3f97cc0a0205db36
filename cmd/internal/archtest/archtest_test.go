package archtest

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHouse checks the whole module.
func TestHouse(t *testing.T) {
	root, module := findModule(t)
	breaches, err := Check(os.DirFS(root), module)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range breaches {
		t.Error(b)
	}
}

func findModule(t *testing.T) (root, module string) {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		f, err := os.Open(filepath.Join(dir, "go.mod"))
		if err != nil {
			if dir == filepath.Dir(dir) {
				t.Fatal("no go.mod above this package")
			}
			continue
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if name, ok := strings.CutPrefix(sc.Text(), "module "); ok {
				return dir, strings.TrimSpace(name)
			}
		}
		t.Fatalf("%s/go.mod names no module", dir)
	}
}

// house is a small tree that keeps every rule.
func house() fstest.MapFS {
	return tree(map[string]string{
		"schemas/subject/subject.go": "// Package subject x.\npackage subject\n\nconst Journal = \"EV\"\n",
		"schemas/subject/s_test.go":  "package subject\n\nimport _ \"pgregory.net/rapid\"\n",
		"bus/bus.go":                 "// Package bus x.\npackage bus\n\nimport _ \"h.o/use/schemas/subject\"\n\nconst api = \"$JS.API.>\"\n",
		"services/turns/service.go": "// Package turns x.\npackage turns\n\nimport (\n\t_ \"context\"\n\n" +
			"\t_ \"h.o/use/bus\"\n\t_ \"h.o/use/services/turns/turn\"\n)\n",
		"services/turns/turn/turn.go": "// Package turn x.\npackage turn\n\nimport (\n\t\"time\"\n\n\t_ \"h.o/use/schemas/subject\"\n)\n\n" +
			"var day = 24 * time.Hour\n",
		"services/turns/model/model.go":        "// Package model x.\npackage model\n\nimport _ \"h.o/use/services/turns/turn\"\n",
		"services/turns/turn/turn_test.go":     "package turn\n\nimport (\n\t_ \"context\"\n\t_ \"flag\"\n)\n",
		"services/turns/internal/openai/o.go":  "// Package openai x.\npackage openai\n\nimport _ \"net/http\"\n",
		"services/internal/botapi/b.go":        "// Package botapi x.\npackage botapi\n\nimport (\n\t_ \"context\"\n\t_ \"net/http\"\n\t\"time\"\n)\n\nvar now = time.Now\n",
		"services/outbox/wire_test.go":         "package outbox\n\nimport _ \"h.o/use/loadtest/fake/faketelegram\"\n",
		"services/outbox/service.go":           "// Package outbox x.\npackage outbox\n\nimport (\n\t_ \"h.o/use/bus\"\n\t_ \"h.o/use/services/internal/botapi\"\n)\n",
		"cmd/jetclaw/main.go":                  "// Command jetclaw x.\npackage main\n\nimport (\n\t\"os\"\n\n\t_ \"h.o/use/services/turns\"\n)\n\nvar home = os.Getenv(\"HOME\")\n",
		"loadtest/main.go":                     "// Command loadtest x.\npackage main\n\nimport (\n\t_ \"flag\"\n\n\t_ \"h.o/use/bus\"\n\t_ \"h.o/use/loadtest/figure/stat\"\n)\n",
		"services/turns/testdata/not/go.go":    "package utils\n",
		"services/turns/turn/testdata/misc.go": "not even go",
	})
}

func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, src := range files {
		m[name] = &fstest.MapFile{Data: []byte(src)}
	}
	return m
}

func TestCleanHouse(t *testing.T) {
	breaches, err := Check(house(), "h.o/use")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range breaches {
		t.Error(b)
	}
}

// TestEachRuleBites adds one file to the clean house and expects exactly one breach of the rule named, at the place named.
func TestEachRuleBites(t *testing.T) {
	bitten := map[string]bool{}
	for _, c := range []struct{ rule, path, src, where string }{
		{"layers", "schemas/subject/x.go", "package subject\n\nimport _ \"h.o/use/bus\"\n", "schemas/subject/x.go:3"},
		{"layers", "schemas/subject/x_test.go", "package subject\n\nimport _ \"h.o/use/bus\"\n", "schemas/subject/x_test.go:3"},
		{"layers", "bus/x.go", "package bus\n\nimport _ \"h.o/use/services/turns\"\n", "bus/x.go:3"},
		{"layers", "bus/x_test.go", "package bus\n\nimport _ \"h.o/use/cmd/jetclaw/app\"\n", "bus/x_test.go:3"},
		{"layers", "services/turns/x.go", "package turns\n\nimport _ \"h.o/use/cmd/internal/x\"\n", "services/turns/x.go:3"},
		{"layers", "pkg/x/x.go", "// Package x x.\npackage x\n", "pkg/x/x.go:1"},
		{"schemas-std", "schemas/subject/x.go", "package subject\n\nimport _ \"github.com/x/y\"\n", "schemas/subject/x.go:3"},
		{"pure-machine", "services/turns/turn/x.go", "package turn\n\nimport _ \"context\"\n", "services/turns/turn/x.go:3"},
		{"pure-machine", "services/turns/turn/x.go", "package turn\n\nimport _ \"h.o/use/bus\"\n", "services/turns/turn/x.go:3"},
		{"pure-machine", "services/turns/turn/x.go", "package turn\n\nimport _ \"github.com/x/y\"\n", "services/turns/turn/x.go:3"},
		{
			"pure-machine", "services/turns/turn/x.go", "package turn\n\nimport _ \"h.o/use/services/turns/internal/openai\"\n",
			"services/turns/turn/x.go:3",
		},
		{
			"pure-machine", "services/turns/turn/x.go", "package turn\n\nimport _ \"h.o/use/services/internal/botapi\"\n",
			"services/turns/turn/x.go:3",
		},
		{"no-clock", "services/turns/turn/x.go", "package turn\n\nimport \"time\"\n\nvar t = time.Now\n", "services/turns/turn/x.go:5"},
		{"no-clock", "services/turns/turn/x.go", "package turn\n\nimport clk \"time\"\n\nvar t = clk.Since\n", "services/turns/turn/x.go:5"},
		{"services-apart", "services/outbox/x.go", "package outbox\n\nimport _ \"h.o/use/services/turns\"\n", "services/outbox/x.go:3"},
		{
			"services-apart", "services/outbox/x_test.go", "package outbox\n\nimport _ \"h.o/use/services/turns/turn\"\n",
			"services/outbox/x_test.go:3",
		},
		{
			"services-apart", "services/internal/botapi/x.go", "package botapi\n\nimport _ \"h.o/use/services/outbox\"\n",
			"services/internal/botapi/x.go:3",
		},
		{
			"services-apart", "services/internal/botapi/x_test.go", "package botapi\n\nimport _ \"h.o/use/services/turns/turn\"\n",
			"services/internal/botapi/x_test.go:3",
		},
		{"layers", "services/outbox/x.go", "package outbox\n\nimport _ \"h.o/use/loadtest/fake/faketelegram\"\n", "services/outbox/x.go:3"},
		{"layers", "services/outbox/x_test.go", "package outbox\n\nimport _ \"h.o/use/loadtest/figure/stat\"\n", "services/outbox/x_test.go:3"},
		{"layers", "services/internal/botapi/x.go", "package botapi\n\nimport _ \"h.o/use/cmd/jetclaw/app\"\n", "services/internal/botapi/x.go:3"},
		{"loadtest-outside", "loadtest/y.go", "package main\n\nimport _ \"h.o/use/services/internal/botapi\"\n", "loadtest/y.go:3"},
		{"loadtest-outside", "loadtest/x.go", "package main\n\nimport _ \"h.o/use/services/turns\"\n", "loadtest/x.go:3"},
		{"env-in-cmd", "bus/x.go", "package bus\n\nimport \"os\"\n\nvar x = os.Getenv(\"X\")\n", "bus/x.go:5"},
		{"env-in-cmd", "services/turns/x.go", "package turns\n\nimport _ \"flag\"\n", "services/turns/x.go:3"},
		{"names-in-subject", "services/turns/x.go", "package turns\n\nconst x = \"ev.\" + \"y\"\n", "services/turns/x.go:3"},
		{"names-in-subject", "services/turns/x.go", "package turns\n\nconst x = \"EV\"\n", "services/turns/x.go:3"},
		{"names-in-subject", "cmd/jetclaw/x.go", "package main\n\nconst x = \"$JS.API.INFO\"\n", "cmd/jetclaw/x.go:3"},
		{"names-in-subject", "loadtest/x.go", "package main\n\nconst x = \"svc.intake.submit\"\n", "loadtest/x.go:3"},
		{"file-size", "bus/x.go", "package bus\n" + strings.Repeat("\n", maxLines), "bus/x.go"},
		{"named-for-content", "bus/helpers.go", "package bus\n", "bus/helpers.go"},
		{"named-for-content", "bus/utils/x.go", "// Package utils x.\npackage utils\n", "bus/utils/x.go"},
		{"package-comment", "bus/x/x.go", "package x\n", "bus/x"},
		{"package-comment", "bus/x.go", "// Package bus again.\npackage bus\n", "bus"},
	} {
		t.Run(c.rule+" "+c.path, func(t *testing.T) {
			fsys := house()
			fsys[c.path] = &fstest.MapFile{Data: []byte(c.src)}
			breaches, err := Check(fsys, "h.o/use")
			if err != nil {
				t.Fatal(err)
			}
			if len(breaches) != 1 || breaches[0].Rule != c.rule || breaches[0].Where != c.where {
				t.Fatalf("got %v, want one breach of %q at %s", breaches, c.rule, c.where)
			}
			if !strings.Contains(breaches[0].String(), breaches[0].Reason) || breaches[0].Reason == "" {
				t.Errorf("the reason is not told: %s", breaches[0])
			}
			bitten[c.rule] = true
		})
	}
	for _, r := range rules {
		if !bitten[r.name] {
			t.Errorf("no case breaks rule %q", r.name)
		}
	}
}

func TestBrokenSource(t *testing.T) {
	fsys := house()
	fsys["bus/x.go"] = &fstest.MapFile{Data: []byte("packag bus")}
	if _, err := Check(fsys, "h.o/use"); err == nil || !strings.Contains(err.Error(), "bus/x.go") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestListsAreSorted(t *testing.T) {
	if !slices.IsSorted(pureStd) {
		t.Error("pureStd is not sorted")
	}
}
