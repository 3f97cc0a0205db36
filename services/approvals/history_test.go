package approvals

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

var testKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))

func sign(id session.ID, r callv1.Request, a callv1.Approval) callv1.Approval {
	return a.Signed(testKey, id, r)
}

// moment is what the gate would say from a time on.
type moment struct {
	from   time.Time
	policy string
	mute   bool // it cannot be asked
	denies bool
}

// fickle is a gate whose mind the script changes.
type fickle struct {
	mu      sync.Mutex
	history []moment // guarded by mu; never empty
}

func (f *fickle) change(how func(*moment)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.history[len(f.history)-1]
	m.from = time.Now()
	how(&m)
	f.history = append(f.history, m)
}

func (f *fickle) now() moment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.history[len(f.history)-1]
}

func (f *fickle) judge(_ context.Context, _ session.ID, q approval.Question) (approval.Verdict, error) {
	m := f.now()
	if m.mute {
		return approval.Verdict{}, errors.New("nobody there")
	}
	w := parked(q.Turn, q.Call, m.policy)
	v := approval.Verdict{Submission: q.Submission, Effect: approval.Ask, Request: w.Request, Shown: w.Shown, Grant: w.Grant}
	if m.denies {
		v = approval.Verdict{Submission: q.Submission, Effect: approval.Deny, Reason: "not today"}
	}
	return v, nil
}

func (f *fickle) version(context.Context, string) (string, error) { return f.now().policy, nil }

// wouldAsk says whether the gate would have put a request of that policy to a person about then.
func (f *fickle) wouldAsk(policy string, at time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range f.history {
		over := i+1 < len(f.history) && f.history[i+1].from.Before(at)
		if !over && !m.from.After(at) && m.policy == policy && !m.mute && !m.denies {
			return true
		}
	}
	return false
}

// parked is a call as the gate parks it; one whose name begins with "d" is dangerous.
func parked(turn, call, policy string) callv1.Awaiting {
	level := toolv1.L2
	if call[0] == 'd' {
		level = toolv1.L3
	}
	args := json.RawMessage(`{"call":"` + call + `"}`)
	return callv1.Awaiting{
		Request: callv1.Request{
			Turn: turn, Call: call, Tool: "send", Executor: "mail", Arguments: args, Digest: canonical.Digest(args),
			ToolDigest: "t", Level: level, Policy: policy,
		},
		Shown: "send " + call, Fixed: "send", Grant: "g",
	}
}

// wanted is a question in the middle of a call; one whose name begins with "i" cannot be answered as it is.
func wanted(turn, call string, until time.Time) callv1.Asked {
	schema, content := json.RawMessage(`{"properties":{"x":{"type":"string","default":"`+call+`"}}}`), json.RawMessage(`{"x":"`+call+`"}`)
	if call[0] == 'i' {
		schema, content = json.RawMessage(`{"properties":{"x":{"type":"string"}},"required":["x"]}`), json.RawMessage(`{}`)
	}
	return callv1.Asked{
		Request: callv1.Request{
			Turn: turn, Call: call, Tool: "send", Executor: "mcp-mail", Arguments: content, Digest: canonical.Digest(content),
			ToolDigest: callv1.QuestionDigest("t", call, "", schema), Level: toolv1.L2, Policy: "p",
		},
		Attempt: 1, Question: call, Schema: schema, Shown: "x", Expires: until,
	}
}

// ledger reads a journal without the machine's help.
type ledger struct {
	gate     *fickle
	id       session.ID
	parked   map[string]callv1.Awaiting
	forms    map[string]callv1.Asked // as well among parked
	dropped  map[string]bool         // forms that nobody waits for
	asked    map[string]approvalv1.Requested
	over     map[string]bool
	turns    map[string]bool // that have ended
	open     map[string]messagev1.Decision
	answered map[string]bool
}

func newLedger(g *fickle, id session.ID) *ledger {
	return &ledger{
		gate: g, id: id, parked: map[string]callv1.Awaiting{}, asked: map[string]approvalv1.Requested{}, over: map[string]bool{},
		forms: map[string]callv1.Asked{}, dropped: map[string]bool{}, turns: map[string]bool{}, open: map[string]messagev1.Decision{}, answered: map[string]bool{},
	}
}

func (l *ledger) read(ev envelope.Event) error {
	switch b := ev.Body.(type) {
	case callv1.Awaiting:
		l.parked[approval.ID(ev.Session, ev.ID)] = b
	case callv1.Asked:
		l.drop(b.Turn, b.Call)
		id := approval.ID(ev.Session, ev.ID)
		l.forms[id], l.parked[id] = b, callv1.Awaiting{Request: b.Request}
	case callv1.Completed:
		l.done(b.Turn, b.Call)
	case callv1.Denied:
		l.done(b.Turn, b.Call)
	case turnv1.Cancelled:
		l.turns[b.Turn] = true
	case turnv1.Failed:
		l.turns[b.Turn] = true
	case turnv1.SessionDeleted:
		*l = *newLedger(l.gate, l.id)
	case messagev1.Decision:
		l.open[ev.ID] = b
	case noticev1.Posted:
		return l.answers(b.Answers)
	case approvalv1.Requested:
		w, ok := l.parked[b.Approval]
		if _, twice := l.asked[b.Approval]; twice || !ok || l.over[b.Approval] || l.turns[w.Turn] || !ev.Time.Before(b.Expires) {
			return fmt.Errorf("%s may not be asked", b.Approval)
		}
		l.asked[b.Approval] = b
	case approvalv1.Decided:
		return errors.Join(l.ends(b.Ref), l.decided(b), l.answers(b.Answers))
	case approvalv1.Expired:
		if q, ok := l.asked[b.Approval]; ok && ev.Time.Before(q.Expires) {
			return fmt.Errorf("%s expires too soon", b.Approval)
		}
		return l.ends(b.Ref)
	case approvalv1.Cancelled:
		if !l.turns[b.Turn] && !l.dropped[b.Approval] {
			return fmt.Errorf("%s is cancelled, and its turn goes on", b.Approval)
		}
		return l.ends(b.Ref)
	case approvalv1.Voided:
		return l.ends(b.Ref)
	}
	return nil
}

// drop: nobody waits for what a call has asked.
func (l *ledger) drop(turn, call string) {
	for id, w := range l.forms {
		if w.Turn == turn && w.Call == call {
			l.dropped[id] = true
		}
	}
}

// done: what became of a call leaves nothing to decide.
func (l *ledger) done(turn, call string) {
	l.drop(turn, call)
	for id, w := range l.parked {
		if _, form := l.forms[id]; !form && w.Turn == turn && w.Call == call {
			l.over[id] = true
		}
	}
}

func (l *ledger) ends(ref approvalv1.Ref) error {
	w, ok := l.parked[ref.Approval]
	if !ok || l.over[ref.Approval] || w.Turn != ref.Turn || w.Call != ref.Call {
		return fmt.Errorf("%+v ends what is not open", ref)
	}
	l.over[ref.Approval] = true
	return nil
}

func (l *ledger) answers(ids []string) error {
	for _, id := range ids {
		if _, ok := l.open[id]; !ok || l.answered[id] {
			return fmt.Errorf("%s is answered twice, or was never said", id)
		}
		l.answered[id] = true
	}
	return nil
}

func (l *ledger) decided(b approvalv1.Decided) error {
	q, ok := l.asked[b.Approval]
	x := l.open[b.Answers[0]]
	w, form := l.forms[b.Approval]
	switch {
	case !ok:
		return fmt.Errorf("%s was never asked", b.Approval)
	case x.From.ID != b.Answer.By || x.Decision != b.Answer.Decision || x.Approval != "" && x.Approval != b.Approval:
		return fmt.Errorf("%+v was not said: %+v", b.Answer, x)
	case !slices.Contains(q.Approvers, b.Answer.By):
		return fmt.Errorf("%s is decided by %s", b.Approval, b.Answer.By)
	case !b.Answer.At.Before(q.Expires) || !b.Answer.Expires.Equal(q.Expires):
		return fmt.Errorf("%s is decided at %s, and expired at %s", b.Approval, b.Answer.At, q.Expires)
	case form && (l.dropped[b.Approval] || q.Expires.After(w.Expires) || b.Answer.Decision == callv1.AllowAlways):
		return fmt.Errorf("%s may not be answered like this", b.Approval)
	case form && b.Answer.Decision.Allows() && b.Call[0] == 'i':
		return fmt.Errorf("%s is answered with what does not fit", b.Approval)
	case l.turns[b.Turn]:
		return fmt.Errorf("%s is decided after its turn", b.Approval)
	case !b.Answer.Decision.Allows():
		return nil
	case !b.Answer.Verify(testKey.Public().(ed25519.PublicKey), l.id, q.Request):
		return fmt.Errorf("the signature of %s", b.Approval)
	case b.Answer.Decision == callv1.AllowAlways && q.Level >= toolv1.L3:
		return fmt.Errorf("%s is given for always", b.Approval)
	case !form && !l.gate.wouldAsk(q.Policy, b.Answer.At):
		return fmt.Errorf("%s is allowed, and the gate did not agree", b.Approval)
	}
	return nil
}

// judge reads all of a session: what is left must be nothing.
func (f *fickle) read(s session.ID, events []envelope.Event, st approval.State) error {
	l := newLedger(f, s)
	for _, ev := range events {
		if err := l.read(ev); err != nil {
			return fmt.Errorf("event %d, %s: %w", ev.Cursor, ev.Type(), err)
		}
	}
	for id := range l.parked {
		if !l.over[id] {
			return fmt.Errorf("%s has no end", id)
		}
	}
	for id := range l.open {
		if !l.answered[id] {
			return fmt.Errorf("%s has no answer", id)
		}
	}
	if len(st.Open)+len(st.Inbox) > 0 {
		return fmt.Errorf("left over: %+v", st)
	}
	return nil
}

// TestHistories runs the service's own machine in the shell, with a gate that changes its mind, says no, or cannot be asked:
// several workers, lost acks, late acks, duplicates, conflicts, a crash or a stop at every step, a journal without room, a
// server that is away, deleted sessions.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := &fickle{history: []moment{{policy: "p0"}}}
		ttl := rapid.SampledFrom([]time.Duration{3 * time.Second, 50 * time.Second, 10 * time.Minute}).Draw(rt, "ttl")
		service := &Service{
			gate: g, log: slog.New(slog.DiscardHandler),
			rules: func() approval.Rules {
				return approval.Rules{TTL: ttl, Approvers: []string{"telegram:1", local}, Sign: sign}
			},
		}
		deeds := rapid.SliceOfN(rapid.SampledFrom([]string{
			"await", "await", "await", "dangerous", "form", "form", "incomplete", "again", "call done", "allow", "allow", "allow", "always", "deny", "stranger", "unnamed", "unknown",
			"cancel", "fail", "call denied", "policy", "mute", "denies", "calm", "calm", "delete", "full", "down",
		}), 1, 16).Draw(rt, "deeds")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 5000), len(deeds), len(deeds)).Draw(rt, "gaps")
		who := rapid.SliceOfN(rapid.IntRange(0, 5), len(deeds), len(deeds)).Draw(rt, "which")
		sc := actortest.Scenario[approval.State]{
			Spec: Spec(), Machine: service.machine(), Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: actortest.Tape(rt),
			Check: g.read,
			Script: func(w *actortest.World) {
				p := &plot{w: w, gate: g}
				for i, d := range deeds {
					time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
					p.do(d, i, who[i])
				}
				g.change(func(m *moment) { m.mute = false })
			},
		}
		var verdict error
		synctest.Test(t, func(*testing.T) { verdict = actortest.Run(sc) })
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

// plot is what has been done so far.
type plot struct {
	w    *actortest.World
	gate *fickle
	all  []waiting
}

type waiting struct {
	id         session.ID
	approval   string
	turn, call string
}

func (p *plot) do(deed string, i, which int) {
	key, s := fmt.Sprint("k", i), session.ID(fmt.Sprintf("main.telegram.bot.p%d", which%2))
	k := waiting{id: s, approval: "abbbbbbbbbb", turn: "m/t", call: "c"}
	if len(p.all) > 0 {
		k = p.all[which%len(p.all)]
	}
	say := func(by, about string, d callv1.Decision) {
		p.w.Post(k.id, messagev1.Decision{From: messagev1.Sender{ID: by}, Approval: about, Decision: d}, key)
	}
	switch deed {
	case "await", "dangerous":
		turn, call := fmt.Sprintf("m%d/t", which%3), deed[:1]+key
		id := p.w.Post(s, parked(turn, call, p.gate.now().policy), key)
		p.all = append(p.all, waiting{s, approval.ID(s, id), turn, call})
	case "form", "incomplete", "again":
		turn, call := fmt.Sprintf("m%d/t", which%3), deed[:1]+key
		if deed == "again" && len(p.all) > 0 { // a call that may have asked before
			s, turn, call = k.id, k.turn, k.call
		}
		id := p.w.Post(s, wanted(turn, call, time.Now().Add(time.Duration(which)*time.Minute)), key)
		p.all = append(p.all, waiting{s, approval.ID(s, id), turn, call})
	case "call done":
		p.w.Post(k.id, callv1.Completed{Turn: k.turn, Call: k.call, Executor: "mcp-mail", Attempt: 1, Outcome: callv1.OK}, key)
	case "allow":
		say("telegram:1", k.approval, callv1.AllowOnce)
	case "always":
		say(local, k.approval, callv1.AllowAlways)
	case "deny":
		say(local, k.approval, callv1.Deny)
	case "stranger":
		say("telegram:2", k.approval, callv1.AllowOnce)
	case "unnamed":
		say("telegram:1", "", callv1.AllowOnce)
	case "unknown":
		say("telegram:1", "abbbbbbbbbb", callv1.AllowOnce)
	case "cancel":
		p.w.Post(k.id, turnv1.Cancelled{Turn: k.turn, Answers: []string{"m"}}, key)
	case "fail":
		p.w.Post(k.id, turnv1.Failed{Outcome: turnv1.Outcome{Turn: k.turn}}, key)
	case "call denied":
		p.w.Post(k.id, callv1.Denied{Turn: k.turn, Call: k.call}, key)
	case "policy":
		p.gate.change(func(m *moment) { m.policy = key })
	case "mute":
		p.gate.change(func(m *moment) { m.mute = true })
	case "denies":
		p.gate.change(func(m *moment) { m.denies = true })
	case "calm":
		p.gate.change(func(m *moment) { m.mute, m.denies = false, false })
	case "delete":
		p.w.Delete(k.id, turnv1.SessionDeleted{}, key)
	case "full":
		p.w.Fill(5 * time.Second)
	case "down":
		p.w.Down(5 * time.Second)
	}
}
