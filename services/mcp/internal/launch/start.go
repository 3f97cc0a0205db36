package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// DefaultGrace is how long a program has to end after its stdin was closed, and again after SIGTERM.
const DefaultGrace = 2 * time.Second

// Command is what to run.
type Command struct {
	Server string // its configured name, for logs
	// Path is the program as written: a name is looked up in the PATH that the program gets, a relative path with a slash
	// starts at Dir.
	Path   string
	Args   []string
	Env    map[string]string   // of the definition, resolved; blocked ones are left out with a warning
	Dir    string              // "": where this process is
	Parent []string            // our environment, NAME=value; only what definition.Inherited names is passed on
	Home   string              // of jetclaw: Sweep finds what belongs to it
	Grace  time.Duration       // 0: DefaultGrace
	Redact func(string) string // takes secrets out of what the program prints; nil: there are none
	Log    *slog.Logger
}

// Start runs the command. ctx is for the start only: the program runs until it ends or Close ends it, and Close has to be called
// in any case. Errors name the program, never its arguments or environment.
func Start(ctx context.Context, c Command) (*Process, error) {
	if c.Log == nil || c.Home == "" {
		return nil, errors.New("launch: a command needs a logger and a home")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: not started: %w", c.Path, context.Cause(ctx))
	}
	log := c.Log.With("server", c.Server)
	mark := newMark(c.Home, c.Server)
	env, left := environment(c, mark)
	if len(left) > 0 {
		log.Warn("environment variables of the definition are left out: they could make its program run other code", "names", left)
	}
	path, err := look(c, env)
	if err != nil {
		return nil, err
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("%s: argument %d holds a zero byte", c.Path, i+1)
		}
	}
	cmd := exec.Command(path, c.Args...) //nolint:gosec,noctx // the operator says what is run; Close ends it, with all its tree
	cmd.Args[0] = c.Path
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.Dir, env, attributes()
	var pipe pipes
	if err := pipe.open(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	// Files, not readers: exec would copy in goroutines of its own, which end only when the last grandchild lets go.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipe.childIn, pipe.childOut, pipe.childErr
	seal()
	err = cmd.Start()
	pipe.closeChild()
	if err != nil {
		pipe.closeOurs()
		return nil, fmt.Errorf("%s: %w", c.Path, plain(err))
	}
	p := &Process{
		tree: tree{cmd: cmd, pid: cmd.Process.Pid, mark: mark}, pipe: pipe, grace: cmp.Or(c.Grace, DefaultGrace), log: log,
		closing: make(chan struct{}), hurry: make(chan struct{}), killed: make(chan struct{}), done: make(chan struct{}),
	}
	p.stderr = tail{redact: c.Redact, log: log}
	p.stdout = newMessages(pipe.out, func(line []byte) {
		log.Warn("the server prints what is no message of the protocol; such lines are dropped", "text", excerpt(line, c.Redact))
	})
	go p.live()
	return p, nil
}

// pipes are both ends of the three streams.
type pipes struct {
	childIn, childOut, childErr *os.File
	in, out, err                *os.File
}

func (p *pipes) open() error {
	var errs [3]error
	p.childIn, p.in, errs[0] = os.Pipe()
	p.out, p.childOut, errs[1] = os.Pipe()
	p.err, p.childErr, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.closeChild()
		p.closeOurs()
		return fmt.Errorf("pipes to the program: %w", err)
	}
	return nil
}

// closeChild closes what the child has its own descriptors of. A nil file is closed without harm.
func (p *pipes) closeChild() {
	p.childIn.Close()
	p.childOut.Close()
	p.childErr.Close()
}

func (p *pipes) closeOurs() {
	p.in.Close()
	p.out.Close()
	p.err.Close()
}

// plain says what the system's answer to a start means for the one who wrote the command.
func plain(err error) error {
	path, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	switch {
	case errors.Is(path.Err, syscall.ENOEXEC):
		return fmt.Errorf("%w: it is no program for this machine, nor a script with #! in its first line", ErrNotExecutable)
	case errors.Is(path.Err, fs.ErrNotExist): // the program itself was there a moment ago
		return fmt.Errorf("the interpreter that it names (its first line, or its loader) is %w", ErrNotFound)
	case errors.Is(path.Err, fs.ErrPermission):
		return fmt.Errorf("%w: permission denied", ErrNotExecutable)
	}
	return path.Err
}
