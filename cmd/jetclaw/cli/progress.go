package cli

import (
	"fmt"
	"io"
	"time"
)

// progress tells a person at a terminal how far the reading of the journal is, once it takes longer than a moment.
type progress struct {
	out          io.Writer // the terminal itself; nil: nobody looks
	events       int
	began, shown time.Time
}

const (
	progressFrom  = time.Second
	progressEvery = 200 * time.Millisecond
	progressLook  = 256 // events between two looks at the clock
	clearLine     = "\r\x1b[K"
)

func (s *shell) progress() *progress {
	p := &progress{began: time.Now()}
	if s.errTTY {
		p.out = s.rawErr
	}
	return p
}

// step counts an event.
func (p *progress) step() {
	p.events++
	if p.out == nil || p.events%progressLook != 0 {
		return
	}
	now := time.Now()
	if now.Sub(p.began) < progressFrom || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	fmt.Fprintf(p.out, "%s%d events read, %.0f a second", clearLine, p.events, float64(p.events)/now.Sub(p.began).Seconds())
}

// at is step for who counts otherwise: so many events are read.
func (p *progress) at(events int) {
	p.events = events - events%progressLook - 1
	p.step()
}

// say tells something else than a count.
func (p *progress) say(text string) {
	now := time.Now()
	if p.out == nil || now.Sub(p.began) < progressFrom || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	fmt.Fprintf(p.out, "%s%s", clearLine, text)
}

// end clears the line. The next step begins a new count.
func (p *progress) end() {
	if !p.shown.IsZero() {
		fmt.Fprint(p.out, clearLine)
	}
	*p = progress{out: p.out, began: time.Now()}
}
