package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/result"
)

// standInTests is TestMain of a package whose tests carry out scenarios: the test binary is also the daemon that these start, and the
// children in which they measure floors.
func standInTests(m *testing.M) {
	if len(os.Args) > 1 {
		if code, ok := standInCommand(os.Args[1], os.Args[2:]); ok {
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}

// standInCommand does what the product does for a command, or what a child of loadtest does; ok is false when it is none of these.
func standInCommand(name string, args []string) (exit int, ok bool) {
	var err error
	switch name {
	case "run":
		err = standInMain()
	case "version":
	case "mcp":
		if args[0] == "serve" {
			err = standInServe(args[1:])
		} else {
			fmt.Println(`{"servers":[{"name":"peer","tools":1}]}`)
		}
	case "replay":
		return standInReplay(), true
	default:
		if ok, err = serveChild(context.Background(), name, args, os.Stdin, os.Stdout, os.Stderr); !ok {
			return 0, false
		}
	}
	return code(printer{out: os.Stdout, err: os.Stderr}, name, err), true
}

// scenario carries out a command against the stand-in.
func scenario(t *testing.T, do command, args ...string) (exit int, out, notes string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var o, n bytes.Buffer
	p := printer{out: &o, err: io.MultiWriter(&n, testWriter{t})}
	exit = code(p, "scenario", do(t.Context(), append(args, "--binary", self), p))
	return exit, o.String(), n.String()
}

// misused is the exit code of a command that is called wrongly.
func misused(t *testing.T, do command, args ...string) int {
	t.Helper()
	p := printer{out: io.Discard, err: io.Discard}
	return code(p, "scenario", do(t.Context(), args, p))
}

// bareBench is a bench on which the stand-in can be started.
func bareBench(t *testing.T) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{dir: t.TempDir(), binary: self, p: printer{out: io.Discard, err: testWriter{t}}}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// decode reads the scenario's own report out of a result.
func decode(out string, into any) error {
	r := result.Result{Detail: into}
	return json.Unmarshal([]byte(out), &r)
}

func missedOf(goals []result.Figure) (figures []string) {
	for _, g := range goals {
		if !g.Met {
			figures = append(figures, g.Name)
		}
	}
	return figures
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
