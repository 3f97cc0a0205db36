package fakemcp

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/jetclaw/jetclaw/loadtest/bench/leash"
)

// Command is the word by which the loadtest program becomes this server: configured as the command of an MCP server, or started
// by a scenario.
const Command = "fakemcp"

// crashed is the exit code of the tool crash.
const crashed = 3

// Main serves as the arguments say: over stdio, or with --http ADDRESS over HTTP, and then it prints its URL first. It ends with
// its stdin.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.SetOutput(errOut)
	o := Options{Crash: func() { os.Exit(crashed) }}
	ledger := fs.String("ledger", "", "file that effects are added to")
	address := fs.String("http", "", "serve Streamable HTTP on this address; port 0 is any free one")
	fs.BoolVar(&o.Legacy, "legacy", false, "speak no version of the protocol after 2025-11-25")
	fs.IntVar(&o.More, "more", 0, "further tools")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o.Ledger = Ledger(*ledger)
	if *address == "" {
		return Serve(ctx, o, io.NopCloser(in), unclosed{out})
	}
	s, err := Start(*address, o)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := fmt.Fprintln(out, s.URL()); err != nil {
		return err
	}
	leash.Wait(ctx, in)
	return nil
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
