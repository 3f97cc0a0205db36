package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// dryRunOptions are the flags of `policy dry-run`.
type dryRunOptions struct {
	since    string
	config   string
	exitCode bool
	json     bool
}

func (s *shell) policyDryRun() *cobra.Command {
	var o dryRunOptions
	c := &cobra.Command{
		Use:   "dry-run",
		Short: "Say which past calls would be decided otherwise under a changed policy",
		Long: `Takes all calls of the journal, with what their sessions had read by then, and asks how they would be decided under the policy
of the configuration file as it is now, whether the daemon has read it or not. What differs is listed: how it was, how it
would be, and by which rule. A call that ran because a person had allowed it counts as one that was asked about.

Tools, agents and files are those of now: a tool that is gone is denied. A call whose arguments are no longer there is counted
as not comparable.

Exit code 0, with --exit-code 1 when something differs.

With --json it prints one object with policy (the file), compared, same, not_comparable, changes (how many of each kind) and
differences: cursor, time, session, call, tool, then, then_rule, now, rule, reason.`,
		Example: "  jetclaw policy dry-run --since 30d\n  jetclaw policy dry-run --config new.yaml --exit-code --json",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return s.dryRun(c.Context(), o) },
	}
	c.Flags().StringVar(&o.since, "since", "", "only calls that came after a cursor (4711), or in the last while (24h, 30d)")
	c.Flags().StringVar(&o.config, "config", "", "the policy of this FILE, not of the home's jetclaw.yaml")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit with 1 when something differs")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "since")
	return c
}

// dryRan is what `policy dry-run --json` prints.
type dryRan struct {
	Policy        string         `json:"policy"` // file
	Compared      int            `json:"compared"`
	Same          int            `json:"same"`
	NotComparable int            `json:"not_comparable"`
	Changes       map[string]int `json:"changes"` // "ask → run"
	Differences   []difference   `json:"differences"`
}

type difference struct {
	Cursor   uint64      `json:"cursor"`
	Time     time.Time   `json:"time"`
	Session  session.ID  `json:"session"`
	Call     string      `json:"call"`
	Tool     string      `json:"tool"`
	Then     call.Effect `json:"then"`
	ThenRule string      `json:"then_rule"`
	Now      call.Effect `json:"now"`
	Rule     string      `json:"rule"`
	Reason   string      `json:"reason,omitempty"`
}

func (s *shell) dryRun(ctx context.Context, o dryRunOptions) error {
	part, err := eventsOptions{since: o.since}.part(time.Now())
	if err != nil {
		return err
	}
	h, conf, err := s.load(false)
	if err != nil {
		return err
	}
	now := app.PolicyOf(conf.Policy)
	policy, file := &now, h.Config()
	if o.config != "" {
		if policy, err = policyOf(o.config); err != nil {
			return err
		}
		file = o.config
	}
	res := dryRan{Policy: file, Changes: map[string]int{}, Differences: []difference{}}
	return s.visit(ctx, "policy dry-run", func(ctx context.Context, _ app.Env, c app.Client) error {
		p := s.progress()
		defer p.end()
		r := replayed{from: part, states: map[session.ID]call.State{}, judge: func(batch []pastCall) error {
			return res.compare(ctx, c.Conn, policy, batch)
		}}
		// All of it, also for some days: what a session has read may lie anywhere before.
		err := c.Conn.Replay(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			p.step()
			return r.see(e)
		})
		if err == nil {
			err = r.flush()
		}
		if err != nil {
			return err
		}
		p.end()
		res.NotComparable += r.lost
		if o.json {
			err = s.writeJSON(res)
		} else {
			err = s.showDryRun(res)
		}
		if err == nil && o.exitCode && len(res.Differences) > 0 {
			return &toldError{exitFailed}
		}
		return err
	})
}

// pastCall is a call as it was decided about.
type pastCall struct {
	difference
	arguments json.RawMessage
	taint     call.Taint
}

// replayed folds the journal as the gate did, and hands on each call at its first decision.
type replayed struct {
	from   bus.ReplayOptions // which calls count
	states map[session.ID]call.State
	judge  func([]pastCall) error
	batch  []pastCall
	lost   int // decisions of which too little is left
}

const dryRunBatch = 500

func (r *replayed) see(e envelope.Event) error {
	st := r.states[e.Session]
	if counts := e.Cursor >= r.from.From && !e.Time.Before(r.from.Since); counts {
		if p, ok := pastOf(st, e); ok {
			r.batch = append(r.batch, p)
		} else if u, broken := e.Body.(envelope.Unknown); broken && isDecision(u.Type) {
			r.lost++
		}
	}
	switch st = st.Apply(e); {
	case st.Turn == "" && st.Taint == call.Taint{}:
		delete(r.states, e.Session) // most sessions: nothing to remember
	default:
		st.Always = nil // the question is whether a person would be asked
		r.states[e.Session] = st
	}
	if len(r.batch) >= dryRunBatch {
		return r.flush()
	}
	return nil
}

func (r *replayed) flush() error {
	batch := r.batch
	r.batch = nil
	return r.judge(batch)
}

// pastOf is the call that an event decides about first.
func pastOf(st call.State, e envelope.Event) (p pastCall, ok bool) {
	find := func(turn, id string) (c call.Call, ok bool) {
		for _, c := range st.Calls {
			if c.ID == id && turn == st.Turn && c.Phase == call.Asked {
				return c, true
			}
		}
		return c, false
	}
	p = pastCall{difference: difference{Cursor: e.Cursor, Time: e.Time, Session: e.Session}, taint: st.Taint}
	switch b := e.Body.(type) {
	case callv1.Dispatched:
		p.Call, p.Tool, p.arguments, p.Then, p.ThenRule = b.Call, b.Tool, b.Arguments, call.Run, b.Rule
		if b.Always != nil || b.Approval != nil {
			p.Then = call.Ask
		}
		_, ok = find(b.Turn, b.Call)
	case callv1.Awaiting:
		p.Call, p.Tool, p.arguments, p.Then, p.ThenRule = b.Call, b.Tool, b.Arguments, call.Ask, b.Rule
		_, ok = find(b.Turn, b.Call)
	case callv1.Denied:
		var c call.Call
		c, ok = find(b.Turn, b.Call)
		p.Call, p.Tool, p.arguments, p.Then, p.ThenRule = b.Call, c.Tool, json.RawMessage(c.Arguments), call.Deny, b.Rule
	}
	return p, ok
}

// isDecision says whether a type of event is a decision about a call.
func isDecision(eventType string) bool {
	for _, b := range []envelope.Body{callv1.Dispatched{}, callv1.Awaiting{}, callv1.Denied{}} {
		if strings.HasPrefix(eventType, envelope.KindOf(b.EventType())) {
			return true
		}
	}
	return false
}

// compare asks how the calls would be decided now.
func (d *dryRan) compare(ctx context.Context, conn *bus.Conn, policy *tools.Policy, batch []pastCall) error {
	cases := make([]tools.Case, len(batch))
	for i, p := range batch {
		cases[i] = tools.Case{Session: string(p.Session), Tool: p.Tool, Arguments: p.arguments, Taint: &p.taint}
	}
	answers, err := judge(ctx, conn, policy, cases)
	if err != nil {
		return err
	}
	for i, p := range batch {
		got := answers[i]
		if got == nil || p.Tool == "" || len(p.arguments) == 0 {
			d.NotComparable++
			continue
		}
		d.Compared++
		if got.Effect == p.Then {
			d.Same++
			continue
		}
		p.Now, p.Rule, p.Reason = got.Effect, got.Rule, got.Reason
		d.Changes[string(p.Then)+" → "+string(p.Now)]++
		d.Differences = append(d.Differences, p.difference)
	}
	return nil
}
