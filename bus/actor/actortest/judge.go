package actortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
	if err := p.w.wrongAck(); err != nil {
		return err
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
	state, left, err := p.refold(s, events)
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
	for part, step := range left {
		return fmt.Errorf("no bell is left, but a step of part %q: %T", part, step)
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

// part is the part of its session that an event rings.
func (p *play[S]) part(e envelope.Event) string {
	if p.sc.Machine.Part == nil || e.Cursor == 0 {
		return ""
	}
	return p.sc.Machine.Part(e)
}

// mayAck looks for a fold that includes the event and in which its part has no step: the worker may have been late, but it
// must have seen one. Part "" may leave a step that has to wait to a timer.
func (p *play[S]) mayAck(e envelope.Event, events []envelope.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its part has a step; then the machine panics: %v", v)
		}
	}()
	part, at := p.part(e), *new(S)
	none := func(seen time.Time) bool {
		step := p.sc.Machine.Next(at, machine.View{Now: seen, Session: e.Session, Part: part, Worker: "judge"})
		_, waits := step.(machine.Wait)
		return step == nil || waits && part == ""
	}
	if len(events) == 0 { // purged
		return nil
	}
	for _, o := range events {
		if o.Kind() == tombstone {
			at = *new(S)
		}
		at = p.sc.Machine.Apply(at, o)
		if o.Cursor >= e.Cursor && (none(o.Time) || none(time.Now().UTC())) {
			return nil
		}
	}
	return fmt.Errorf("part %q had a step in every fold since", part)
}

// wrongAck is the first ack that was not allowed.
func (w *World) wrongAck() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrongAcks) > 0 {
		return w.wrongAcks[0]
	}
	return nil
}

// refold folds events as a stranger would, and asks for the steps that are left, by part; a state of nil when the machine
// panics.
func (p *play[S]) refold(s session.ID, events []envelope.Event) (state *S, left map[string]machine.Step, err error) {
	defer func() {
		if recover() != nil {
			state, left, err = nil, nil, nil
		}
	}()
	parts := map[string]bool{"": true}
	prev, at := uint64(0), *new(S)
	for i, e := range events {
		if e.Prev != prev && (i > 0 || e.Kind() != tombstone) {
			return nil, nil, fmt.Errorf("event %d follows %d, not %d", e.Cursor, e.Prev, prev)
		}
		prev = e.Cursor
		at = p.sc.Machine.Apply(at, e)
		if p.w.isDoorbell(e) {
			parts[p.part(e)] = true
		}
	}
	left = make(map[string]machine.Step)
	for part := range parts {
		v := machine.View{Now: time.Now().UTC(), Session: s, Part: part, Worker: "judge"}
		if step := p.sc.Machine.Next(at, v); step != nil {
			left[part] = step
		}
	}
	return &at, left, nil
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
