//go:build !unix

package sandbox

import (
	"context"
	"errors"
	"io"
)

// Box cannot be had on this system.
type Box struct{}

var errNoShell = errors.New("commands need /bin/sh, which this system does not have")

// New always fails.
func New(Options) (*Box, error) { return nil, errNoShell }

// Kind says what the sandbox is made of.
func (b *Box) Kind() string { return string(None) }

// Main is not used on this system.
func Main([]string) int { return 2 }

// Run always fails.
func (b *Box) Run(context.Context, Command, io.Writer) (Status, error) { return Status{}, errNoShell }
