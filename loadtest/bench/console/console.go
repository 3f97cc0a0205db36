// Package console is what every command of loadtest has to do with its caller: flags, what it prints, and its exit code.
package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Program begins the name of each set of flags.
const Program = "loadtest "

// usageError is a mistake in the command line.
type usageError struct{ error }

// Usage makes an error a mistake in the command line: the program exits 2 then.
func Usage(err error) error { return usageError{err} }

// Parse reads flags, which are the only arguments.
func Parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return Usage(err)
	}
	if fs.NArg() > 0 {
		return Usage(fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	}
	return nil
}

// Command is one of the program's: it reads its flags and does what they say.
type Command func(ctx context.Context, args []string, p Printer) error

// Printer writes the report to out and what happens meanwhile to err.
type Printer struct{ Out, Err io.Writer }

// Say adds a line to the report.
func (p Printer) Say(format string, args ...any) { _, _ = fmt.Fprintf(p.Out, format+"\n", args...) }

// Note tells what happens meanwhile.
func (p Printer) Note(format string, args ...any) { _, _ = fmt.Fprintf(p.Err, format+"\n", args...) }

// Flags begins those of a command of a name.
func (p Printer) Flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(Program+name, flag.ContinueOnError)
	fs.SetOutput(p.Err)
	return fs
}

// ErrBroken says that a promise was broken; the report has said which.
var ErrBroken = errors.New("a promise was broken")

// Code is the exit code for what a command has come to, which it says.
func Code(p Printer, name string, err error) int {
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		p.Note("%v", err)
		return 2
	}
	p.Note("loadtest %s: %v", name, err)
	return 1
}
