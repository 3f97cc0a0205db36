package turns

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// RerunRequest asks how a turn would go with another model (svc.turns.rerun). The model is asked for real, and paid for; its
// tool calls get the results that the turn's own calls had, no tool runs, and nothing is written: the accounts do not have it.
type RerunRequest struct {
	Session string `json:"session"`
	Turn    string `json:"turn"`            // its id, its number in the session from 1, or "last"
	Model   string `json:"model,omitempty"` // "": the session's own
}

// Rerun is a turn as it went, and as it would go now. Long texts are cut.
type Rerun struct {
	Session  session.ID `json:"session"`
	Turn     string     `json:"turn"`
	Model    string     `json:"model"`
	Messages []string   `json:"messages"` // that the turn answers, those included that came while it ran
	Then     Play       `json:"then"`
	Now      Play       `json:"now"`
	// Unmatched is how many calls the turn had not made, or had no result of; the model was told that they were not run.
	Unmatched int `json:"unmatched"`
}

// lastTurn names the newest turn of a session.
const lastTurn = "last"

func (s *Service) answerRerun(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[RerunRequest](data)
	if err != nil {
		return nil, err
	}
	id, err := conversation("session", r.Session)
	if err != nil {
		return nil, err
	}
	history, err := s.past(ctx, id)
	if err != nil {
		return nil, err
	}
	history = turn.Unfold(history)
	name, err := turnNamed(turn.Started(history, id), id, r.Turn)
	if err != nil {
		return nil, err
	}
	state, of := turn.Before(history, id, name)
	c := s.calls
	ref := c.agents.of(id).chain(state)[0]
	if r.Model != "" {
		if ref, err = c.known(id, r.Model); err != nil {
			return nil, err
		}
	}
	if c.daily != nil {
		if text, over := c.daily.Check(ctx, id.Agent(), time.Now()); over {
			return nil, fault.New(fault.Denied, "%s", text)
		}
	}
	again := newRerun(c, id, ref, state, recordOf(of, name))
	if err := again.play(ctx, name); err != nil {
		return nil, err
	}
	return again.answer(of), nil
}

// turnNamed finds the turn that somebody means.
func turnNamed(all []string, id session.ID, name string) (string, error) {
	if len(all) == 0 {
		return "", fault.New(fault.Invalid, "turn: %s has had no turn yet", id)
	}
	n, err := strconv.Atoi(name)
	switch {
	case name == lastTurn:
		return all[len(all)-1], nil
	case err == nil && n >= 1 && n <= len(all):
		return all[n-1], nil
	case slices.Contains(all, name):
		return name, nil
	case slices.Contains(all, name+"/t"): // of a message, which it begins with
		return name + "/t", nil
	}
	return "", fault.New(fault.Invalid, "turn: %s has no turn %.80q: name one by its number, 1 to %d, by its id, or say %q",
		id, name, len(all), lastTurn)
}

// rerun plays one turn in memory: the machine decides, the model is asked, and the record stands in for the tools.
type rerun struct {
	c         *caller
	session   session.ID
	rules     turn.Rules
	state     turn.State
	record    *record
	messages  []string
	events    []envelope.Event
	claim     uint64 // cursor of the open claim
	unmatched int
}

// rerunner is who makes its claims.
const rerunner = "rerun"

// unheard watches: a rerun is nobody's conversation.
type unheard struct{}

// PublishLive drops it.
func (unheard) PublishLive(session.ID, any) error { return nil }

func newRerun(c *caller, id session.ID, ref string, s turn.State, rec *record) *rerun {
	alone := *c
	alone.only, alone.live = ref, unheard{}
	rules := c.agents.rulesOf(id)
	rules.Queue = turn.DefaultQueue() // nothing comes while it runs
	if s.ModelRef(rules) != ref {
		s.Settings.Model, s.Room = ref, 0
	}
	return &rerun{c: &alone, session: id, rules: rules, state: s, record: rec}
}

// play goes on until the turn ends, within the time that a turn may have.
func (r *rerun) play(ctx context.Context, name string) error {
	limits := r.rules.Limits
	ctx, cancel := context.WithTimeout(ctx, limits.TurnTime+limits.Grace)
	defer cancel()
	first := r.state.Again(name)
	first.Worker, first.Deadline = rerunner, time.Now().Add(limits.CallTime+limits.Grace)
	r.add(turnv1.Started{Claim: first}, true)
	if r.state.Turn == nil {
		return fault.New(fault.Internal, "turn %s of %s has no message that could be answered again", name, r.session)
	}
	for _, e := range r.state.Turn.Entries {
		r.messages = append(r.messages, prompt.Said(e))
	}
	for r.state.Turn != nil {
		v := machine.View{Now: time.Now(), Session: r.session, Worker: rerunner, Mine: r.claim}
		switch step := r.state.Next(v, r.rules).(type) {
		case machine.Append:
			r.add(step.Body, step.Claim)
		case machine.Perform:
			body, err := r.perform(ctx, step)
			if err != nil {
				return err
			}
			r.add(body, false)
			r.answerCalls()
		case machine.Held, machine.Wait, nil:
			return fault.New(fault.Internal, "the rerun of turn %s stands still", name)
		}
	}
	return nil
}

func (r *rerun) perform(ctx context.Context, step machine.Perform) (envelope.Body, error) {
	ctx, cancel := context.WithDeadline(ctx, step.Deadline)
	defer cancel()
	body, err := r.c.perform(ctx, actor.Work[turn.State]{
		Session: r.session, State: r.state, Claim: r.events[len(r.events)-1], Deadline: step.Deadline,
	})
	if err != nil {
		return nil, fault.New(fault.Timeout, "the rerun was ended before the turn was: %w", err)
	}
	return body, nil
}

// add folds an event that is written nowhere.
func (r *rerun) add(body envelope.Body, claim bool) {
	n := uint64(len(r.events) + 1)
	ev := envelope.Event{ID: fmt.Sprintf("%s/%d", rerunner, n), Session: r.session, Cursor: n, Prev: n - 1, Time: time.Now().UTC(), Body: body}
	r.events = append(r.events, ev)
	r.state = r.state.Apply(ev)
	if claim {
		r.claim = n
	}
}

// answerCalls gives the calls of the last step what the record has for them.
func (r *rerun) answerCalls() {
	for _, id := range r.state.OpenCalls() {
		ev, ok := r.record.take(r.state.Turn, id)
		if !ok {
			r.unmatched++
		}
		ev.Session = r.session
		r.events = append(r.events, ev)
		r.state = r.state.Apply(ev)
	}
}

// answerRoom is kept free in an answer for what is not text.
const answerRoom = 64 << 10

// answer is as much of both turns as one message carries.
func (r *rerun) answer(of []envelope.Event) Rerun {
	name := r.record.turn
	out := Rerun{
		Session: r.session, Turn: name, Model: r.c.only, Then: playOf(of, name), Now: playOf(r.events, name), Unmatched: r.unmatched,
	}
	for limit := maxText; ; limit /= 2 {
		cut := out
		cut.Then, cut.Now = out.Then.shortened(limit), out.Now.shortened(limit)
		cut.Messages = nil
		for _, m := range r.messages {
			cut.Messages = append(cut.Messages, shortened(strings.ToValidUTF8(m, "�"), limit, "message"))
		}
		data, err := json.Marshal(cut)
		if err == nil && len(data) <= bus.MaxRequest-answerRoom || limit == 0 {
			return cut
		}
	}
}
