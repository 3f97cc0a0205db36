// Package report carries out the scenarios of the design's table, each as a process of its own, and writes RESULTS.md.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// flags are those of the command report.
type flags struct {
	binary, md, out, only string
	quick                 bool
}

const (
	resultsFile = "loadtest/RESULTS.md"
	stepLimit   = 15 * time.Minute
)

func parseReport(args []string, p console.Printer) (flags, error) {
	fs := p.Flags("report")
	var f flags
	fs.StringVar(&f.binary, "binary", "", "a built jetclaw; default: build ./cmd/jetclaw")
	fs.BoolVar(&f.quick, "quick", false, "everything is short: it shows that the report can be made, and its figures mean little")
	fs.StringVar(&f.md, "md", "", "`FILE` for the report; -: stdout (default "+resultsFile+"; with --quick or --only stdout)")
	fs.StringVar(&f.out, "out", "", "keep the result and the page of each step in this `DIRECTORY`")
	fs.StringVar(&f.only, "only", "", "steps with commas, of "+strings.Join(stepNames(), ","))
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	if f.md == "" {
		f.md = resultsFile
		if f.quick || f.only != "" {
			f.md = "-"
		}
	}
	for name := range strings.SplitSeq(f.only, ",") {
		if name != "" && stepOf(name) == nil {
			return f, console.Usage(fmt.Errorf("only %q: want some of %s", name, strings.Join(stepNames(), ", ")))
		}
	}
	return f, nil
}

// reported is the report while it is being made.
type reported struct {
	f       flags
	p       console.Printer
	dir     string // of the results
	binary  string
	results map[string]result.Result // by the step
	trouble map[string]error         // the same: steps that came to nothing
}

// Command runs the scenarios of all rows, each as a process of its own, and writes what they have come to. A goal that was missed
// is no error here: it is what the report is for.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseReport(args, p)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "jetclaw-report-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	r := &reported{f: f, p: p, dir: f.out, binary: f.binary, results: map[string]result.Result{}, trouble: map[string]error{}}
	if r.dir == "" {
		r.dir = tmp
	} else if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if r.binary == "" {
		p.Note("building jetclaw …")
		if r.binary, err = daemon.Build(ctx, tmp); err != nil {
			return err
		}
	}
	began := time.Now()
	list := r.steps()
	for i, s := range list {
		p.Note("step %d of %d: %s (%s so far)", i+1, len(list), s.Name, time.Since(began).Round(time.Second))
		res, err := r.step(ctx, s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			p.Note("step %s: %v", s.Name, err)
			r.trouble[s.Name] = err
			continue
		}
		r.results[s.Name] = res
	}
	if err := r.write(ctx, time.Since(began)); err != nil {
		return err
	}
	if len(r.trouble) > 0 {
		return fmt.Errorf("%d of %d steps came to nothing; the report says which", len(r.trouble), len(list))
	}
	return nil
}

func (r *reported) steps() (out []Step) {
	for _, s := range Steps() {
		if r.f.only == "" || strings.Contains(","+r.f.only+",", ","+s.Name+",") {
			out = append(out, s)
		}
	}
	return out
}

// step has this program carry out one scenario. A promise that was broken makes it exit 1, and leaves its result all the same: the row
// says so.
func (r *reported) step(ctx context.Context, s Step) (res result.Result, err error) {
	self, err := os.Executable()
	if err != nil {
		return res, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stepLimit, fmt.Errorf("not done within %s", stepLimit))
	defer cancel()
	at := func(ext string) string { return filepath.Join(r.dir, s.Name+ext) }
	_ = os.Remove(at(".json")) // of another run
	args := append(strings.Fields(s.Full), "--binary", r.binary, "--json", at(".json"), "--html", at(".html"))
	if r.f.quick {
		args = append(strings.Fields(s.Quick), args[len(strings.Fields(s.Full)):]...)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = bench.StopTime
	cmd.Stdout, cmd.Stderr = io.Discard, r.p.Err
	ran := cmd.Run()
	if res, err = result.Read(at(".json")); err != nil {
		return res, errors.Join(ran, context.Cause(ctx), err)
	}
	if ran != nil {
		r.p.Note("step %s: %v", s.Name, ran)
	}
	return res, nil
}

func (r *reported) write(ctx context.Context, took time.Duration) error {
	text := r.markdown(result.ThisMachine(ctx), time.Now(), took)
	if r.f.md == "-" {
		_, err := io.WriteString(r.p.Out, text)
		return err
	}
	if err := os.WriteFile(r.f.md, []byte(text), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	r.p.Note("written: %s", r.f.md)
	return nil
}
