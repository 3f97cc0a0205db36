package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

const prompt = "> "

// errNudge makes the editor look again at what it shows.
var errNudge = errors.New("look again")

// editor reads lines from a terminal in raw mode, and writes to it: what is half typed moves out of the way. All output
// has to go through Write while it is open.
type editor struct {
	term  *term.Terminal
	in    *os.File
	was   *term.State
	lines chan string // closed at the end of input
	done  chan struct{}
	nudge chan struct{}
	shown bool // the prompt; of the owner alone

	more  chan struct{} // holds one when there is something to read
	mu    sync.Mutex
	keys  keys   // guarded by mu
	ready string // guarded by mu; for the terminal to read
	ended bool   // guarded by mu; nothing more comes
	out   io.Writer
	tick  bool // guarded by mu; a ticker's text is on the line, and the cursor before it
}

// newEditor takes the terminal. Close gives it back.
func newEditor(in *os.File, out io.Writer, interrupt func()) (*editor, error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("take the terminal: %w", err)
	}
	e := &editor{
		in: in, was: was, lines: make(chan string), done: make(chan struct{}), nudge: make(chan struct{}, 1),
		more: make(chan struct{}, 1), keys: keys{interrupt: interrupt}, out: out,
	}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{readerFunc(e.read), out}, "")
	e.fit()
	e.term.SetBracketedPasteMode(true)
	go e.listen()
	go e.edit()
	return e, nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// fit takes over the width of the terminal.
func (e *editor) fit() {
	if width, height, err := term.GetSize(int(e.in.Fd())); err == nil && width > 0 {
		_ = e.term.SetSize(width, height) // it fails as a write does, and that is seen at the next one
	}
}

// listen takes keys as they come. A read from a terminal cannot be called back, so that the last one ends with the process.
func (e *editor) listen() {
	buf := make([]byte, 4096)
	for {
		n, err := e.in.Read(buf)
		e.mu.Lock()
		e.ready += e.keys.feed(buf[:n])
		e.ended = e.ended || err != nil
		e.mu.Unlock()
		wake(e.more)
		if err != nil {
			return
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// read is what the terminal reads from.
func (e *editor) read(p []byte) (int, error) {
	for {
		select {
		case <-e.nudge: // before anything else: a key would be drawn where the prompt is missing
			return 0, errNudge
		default:
		}
		e.mu.Lock()
		n := copy(p, e.ready)
		e.ready = e.ready[n:]
		ended := e.ended
		if n > 0 && e.tick { // before a key is drawn on it
			_, _ = io.WriteString(e.out, eraseLine) // it fails as the next write does
			e.tick = false
		}
		e.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if ended {
			return 0, io.EOF
		}
		select {
		case <-e.more:
		case <-e.nudge:
			return 0, errNudge
		case <-e.done:
			return 0, io.EOF
		}
	}
}

// edit hands out lines, until the end of input.
func (e *editor) edit() {
	defer close(e.lines)
	for {
		line, err := e.term.ReadLine()
		pasted := errors.Is(err, term.ErrPasteIndicator)
		if errors.Is(err, errNudge) {
			continue
		}
		if err != nil && !pasted {
			return
		}
		e.term.SetPrompt("")
		select {
		case e.lines <- textOf(line):
		case <-e.done:
			return
		}
	}
}

// Write shows text above what is half typed.
func (e *editor) Write(p []byte) (int, error) {
	e.hide()
	return e.term.Write(p)
}

// show puts a text on the line until something else has to be there. It must not fill the line. While something is being
// typed it is not shown: one line cannot be both.
func (e *editor) show(text string) {
	e.mu.Lock() // no key comes between
	defer e.mu.Unlock()
	if e.keys.typing {
		return
	}
	_, _ = io.WriteString(e.term, eraseLine+text+"\r") // it fails as the next write does
	e.tick = true
}

// hide takes it away.
func (e *editor) hide() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tick {
		_, _ = io.WriteString(e.term, eraseLine) // it fails as the next write does
		e.tick = false
	}
}

func (e *editor) up() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tick
}

// entered takes note that a line was handed out: its prompt has gone with it.
func (e *editor) entered() { e.shown = false }

// prompt shows the prompt or takes it away.
func (e *editor) prompt(show bool) {
	if show == e.shown {
		return
	}
	e.shown = show
	e.hide()
	e.fit()
	e.mu.Lock() // no key comes between
	defer e.mu.Unlock()
	if show {
		e.term.SetPrompt(prompt)
	} else {
		e.term.SetPrompt("")
	}
	_, _ = e.term.Write(nil) // draws what is half typed again
	if show {
		wake(e.nudge) // and where nothing is, the prompt alone
	}
}

// Close gives the terminal back.
func (e *editor) Close() error {
	e.prompt(false)
	e.term.SetBracketedPasteMode(false)
	close(e.done)
	if err := term.Restore(int(e.in.Fd()), e.was); err != nil {
		return fmt.Errorf("give the terminal back: %w", err)
	}
	return nil
}
