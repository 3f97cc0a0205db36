package mcp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/launch"
)

// program is what a connection to a stdio server talks to: one process at a time, and none once it has ended. Whoever gives up a
// connection while it is being opened need not wait for that: a process that is started too late is not started.
type program struct {
	starting sync.Mutex // held while a process is started, so that the end misses none
	over     bool       // guarded by starting

	mu      sync.Mutex
	process *launch.Process // guarded by mu; nil before the first start
}

// start starts the process, after the one of an attempt before has ended.
func (p *program) start(ctx context.Context, c launch.Command) (client.Pipe, error) {
	p.starting.Lock()
	defer p.starting.Unlock()
	switch {
	case p.over:
		return client.Pipe{}, client.ErrClosed
	case ctx.Err() != nil:
		return client.Pipe{}, context.Cause(ctx)
	}
	if err := p.kill(ctx); err != nil {
		return client.Pipe{}, err
	}
	process, err := launch.Start(ctx, c)
	if err != nil {
		return client.Pipe{}, err
	}
	p.mu.Lock()
	p.process = process
	p.mu.Unlock()
	return client.Pipe{Reader: process.Reader(), Writer: process.Writer()}, nil
}

// end ends the process with all that it has started, for good.
func (p *program) end(ctx context.Context) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	p.over = true
	return p.kill(ctx)
}

func (p *program) kill(ctx context.Context) error {
	if process := p.running(); process != nil {
		return process.Close(ctx)
	}
	return nil
}

// running is the process that was started last, also once it has ended; nil for none.
func (p *program) running() *launch.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// said are the last lines that it has printed to stderr.
func (p *program) said() string {
	if process := p.running(); process != nil {
		return process.Stderr()
	}
	return ""
}

// explain is an error with how the program has ended, if that has led to it.
func (p *program) explain(err error) error {
	process := p.running()
	var late *client.TimeoutError
	if process == nil || errors.As(err, &late) { // it was ended because it was late
		return err
	}
	wait := time.NewTimer(exitTime)
	defer wait.Stop()
	select {
	case <-process.Done():
	case <-wait.C:
		return err
	}
	exit := process.Exit()
	if strings.HasPrefix(exit, "killed") {
		exit = "was " + exit
	}
	text := "the program " + exit
	if said := lastLine(process.Stderr()); said != "" {
		text += ": " + said
	}
	return &exitError{text, err}
}

// exitTime is how long the end of a program is waited for when its connection has ended.
const exitTime = 500 * time.Millisecond

// exitError is an error with how the program has ended.
type exitError struct {
	text string
	err  error
}

func (e *exitError) Error() string { return e.text }
func (e *exitError) Unwrap() error { return e.err }

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
