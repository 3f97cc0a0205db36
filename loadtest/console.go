package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// program begins the name of each set of flags.
const program = "loadtest "

// usageError is a mistake in the command line.
type usageError struct{ error }

// asUsage makes an error a mistake in the command line: the program exits 2 then.
func asUsage(err error) error { return usageError{err} }

// parse reads flags, which are the only arguments.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return asUsage(err)
	}
	if fs.NArg() > 0 {
		return asUsage(fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	}
	return nil
}

// command is one of the program's: it reads its flags and does what they say.
type command func(ctx context.Context, args []string, p printer) error

// printer writes the report to out and what happens meanwhile to err.
type printer struct{ out, err io.Writer }

func (p printer) say(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }

func (p printer) note(format string, args ...any) { _, _ = fmt.Fprintf(p.err, format+"\n", args...) }

// flags begins those of a command of a name.
func (p printer) flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(program+name, flag.ContinueOnError)
	fs.SetOutput(p.err)
	return fs
}

// errBroken says that a promise was broken; the report has said which.
var errBroken = errors.New("a promise was broken")

// code is the exit code for what a command has come to, which it says.
func code(p printer, name string, err error) int {
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		p.note("%v", err)
		return 2
	}
	p.note("loadtest %s: %v", name, err)
	return 1
}
