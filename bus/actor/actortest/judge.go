package actortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// tombstone is the kind of the event that a deleted session begins with.
const tombstone = "session.deleted"

// judge checks every session: the chain, no step left, the folds in memory against a fresh one, and the scenario's own rules.
func (p *play[S]) judge() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.errs) > 0 {
		return p.errs[0]
	}
	for _, s := range p.w.sessions() {
		if err := p.judgeSession(s); err != nil {
			return fmt.Errorf("session %s: %w", s, err)
		}
	}
	return nil
}

func (p *play[S]) judgeSession(s session.ID) error {
	events := p.w.Events(s)
	state, err := refold(p.sc.Machine, s, events)
	switch {
	case err != nil:
		return err
	case state == nil: // the machine panics: nothing may be silent about it
		for _, e := range p.w.Dead() {
			if e.Session == s {
				return nil
			}
		}
		return fmt.Errorf("the machine panics, and no bell was given up")
	}
	want, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if step := p.sc.Machine.Next(*state, machine.View{Now: time.Now().UTC(), Session: s, Worker: "judge"}); step != nil {
		return fmt.Errorf("no bell is left, but a step: %T", step)
	}
	for k, a := range p.actors {
		if k.dead.Load() {
			continue
		}
		mem, _, err := a.Fold(context.Background(), s, 0)
		if err != nil {
			return fmt.Errorf("fold of %s: %w", k.instance, err)
		}
		got, err := json.Marshal(mem)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%s has in memory\n %s\nthe journal says\n %s", k.instance, got, want)
		}
	}
	if p.sc.Check == nil {
		return nil
	}
	return p.sc.Check(s, events, *state)
}

// refold folds events as a stranger would; nil when the machine panics.
func refold[S any](m actor.Machine[S], s session.ID, events []envelope.Event) (state *S, err error) {
	defer func() {
		if recover() != nil {
			state, err = nil, nil
		}
	}()
	prev, at := uint64(0), *new(S)
	for i, e := range events {
		if e.Prev != prev && (i > 0 || e.Kind() != tombstone) {
			return nil, fmt.Errorf("event %d follows %d, not %d", e.Cursor, e.Prev, prev)
		}
		prev = e.Cursor
		at = m.Apply(at, e)
	}
	m.Next(at, machine.View{Now: time.Now().UTC(), Session: s})
	return &at, nil
}

// history prints the journal for a person.
func (w *World) history() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, e := range w.events {
		data, err := json.Marshal(e.Body)
		if err != nil {
			data = []byte(err.Error())
		}
		mark := ' '
		if w.purged[e.Cursor] {
			mark = 'x'
		}
		fmt.Fprintf(&b, "%4d%c<-%-4d %s %-12s %-20s %-10s by %s  %s\n", e.Cursor, mark, e.Prev,
			e.Time.Format("15:04:05.000"), e.Session, e.Type(), e.ID, e.Source, data)
	}
	return b.String()
}
