package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// output says where that goes which a command has measured.
type output struct {
	fs         *flag.FlagSet
	began      time.Time
	json, html string
}

func addOutput(fs *flag.FlagSet) *output {
	o := &output{fs: fs, began: time.Now()}
	fs.StringVar(&o.json, "json", "", "write the result as JSON to this `FILE`; -: to stdout, instead of the text")
	fs.StringVar(&o.html, "html", "", "write the result as a page with pictures to this `FILE`")
	return o
}

// notOption tells of a flag that says nothing about what was measured.
func notOption(name string) bool {
	switch name {
	case "json", "html", "keep", "binary", "token-file", "out":
		return true
	}
	return false
}

func (o *output) options() map[string]string {
	out := map[string]string{}
	o.fs.VisitAll(func(f *flag.Flag) {
		if !notOption(f.Name) {
			out[f.Name] = f.Value.String()
		}
	})
	return out
}

// tell prints the text, unless stdout is for JSON, and writes the files.
func (o *output) tell(ctx context.Context, r Told, p console.Printer) error {
	if o.json != "-" {
		r.Print(p)
	}
	if o.json == "" && o.html == "" {
		return nil
	}
	res := result.Result{
		Format: result.Format, Scenario: strings.TrimPrefix(o.fs.Name(), console.Program), Options: o.options(), Date: time.Now().UTC().Truncate(time.Second),
		Took: time.Since(o.began), Machine: result.ThisMachine(ctx), Detail: r,
	}
	r.Fill(&res)
	var err error
	switch o.json {
	case "":
	case "-":
		err = res.Write(p.Out)
	default:
		err = writeFile(o.json, res.Write)
	}
	if err == nil && o.html != "" {
		err = writeFile(o.html, res.HTML)
	}
	return err
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
