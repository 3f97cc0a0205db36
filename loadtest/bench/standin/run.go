package standin

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

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/child"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// Main is TestMain of a package whose tests carry out scenarios: the test binary is also the daemon that these start, and the
// children in which they measure floors.
func Main(m *testing.M) {
	if len(os.Args) > 1 {
		if code, ok := command(os.Args[1], os.Args[2:]); ok {
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}

// command does what the product does for a command, or what a child of loadtest does; ok is false when it is none of these.
func command(name string, args []string) (exit int, ok bool) {
	var err error
	switch name {
	case "run":
		err = run()
	case "version":
	case "mcp":
		if args[0] == "serve" {
			err = serve(args[1:])
		} else {
			fmt.Println(`{"servers":[{"name":"peer","tools":1}]}`)
		}
	case "replay":
		return replay(), true
	default:
		if ok, err = child.Serve(context.Background(), name, args, os.Stdin, os.Stdout, os.Stderr); !ok {
			return 0, false
		}
	}
	return console.Code(console.Printer{Out: os.Stdout, Err: os.Stderr}, name, err), true
}

// Run carries out a command against the stand-in.
func Run(t *testing.T, do console.Command, args ...string) (exit int, out, notes string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var o, n bytes.Buffer
	p := console.Printer{Out: &o, Err: io.MultiWriter(&n, testWriter{t})}
	exit = console.Code(p, "scenario", do(t.Context(), append(args, "--binary", self), p))
	return exit, o.String(), n.String()
}

// Misused is the exit code of a command that is called wrongly.
func Misused(t *testing.T, do console.Command, args ...string) int {
	t.Helper()
	p := console.Printer{Out: io.Discard, Err: io.Discard}
	return console.Code(p, "scenario", do(t.Context(), args, p))
}

// Bench is a bench on which the stand-in can be started.
func Bench(t *testing.T) *bench.Bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &bench.Bench{Dir: t.TempDir(), Binary: self, P: console.Printer{Out: io.Discard, Err: testWriter{t}}}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// Decode reads the scenario's own report out of a result.
func Decode(out string, into any) error {
	r := result.Result{Detail: into}
	return json.Unmarshal([]byte(out), &r)
}

// MissedOf are the names of the goals that were missed.
func MissedOf(goals []result.Figure) (figures []string) {
	for _, g := range goals {
		if !g.Met {
			figures = append(figures, g.Name)
		}
	}
	return figures
}

// WriteFile makes a file and the folders that it lies in.
func WriteFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
