package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/form"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/internal/execution"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

// What a server is answered (MCP, elicitation: "Response actions").
const (
	accept  = "accept"
	decline = "decline" // a person has said no, or this cannot be asked
	dismiss = "cancel"  // nobody has said anything
)

const (
	maxMessage = 4 << 10
	maxWhy     = 400              // bytes of the message in one line
	answerTime = 10 * time.Second // what a call keeps for what the server does with the answer
	lookAgain  = 2 * time.Second  // news are lossy
	maxPuts    = 32
	putPause   = 50 * time.Millisecond // after an append of which nobody knows what became
)

// errand is a claimed call under way.
type errand struct {
	session session.ID
	claim   envelope.Event
	call    callv1.Dispatched
	attempt int
	asked   int // questions so far; guarded by the mu of the one link that it is on
}

// presence is an errand on a connection.
type presence struct {
	*errand
	due  time.Time     // for answers of a person
	gone chan struct{} // closed when nobody waits for the result any more
}

type errandKey struct{}

// with makes an errand known to all that is done for it.
func (e *errand) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, errandKey{}, e)
}

// attend says that ctx's errand is on the connection until the result is called.
func (l *link) attend(ctx context.Context) (leave func()) {
	e, ok := ctx.Value(errandKey{}).(*errand)
	if !ok {
		return func() {}
	}
	p := &presence{errand: e, due: time.Now().Add(client.MaxCall), gone: make(chan struct{})}
	if limit, ok := ctx.Deadline(); ok && limit.Before(p.due) {
		p.due = limit
	}
	p.due = p.due.Add(-answerTime)
	l.mu.Lock()
	l.errands = append(l.errands, p)
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, other := range l.errands {
			if other == p {
				l.errands = append(l.errands[:i], l.errands[i+1:]...)
				break
			}
		}
		close(p.gone)
	}
}

// about is the call that a question belongs to, and which of its questions it is. Since 2026-07-28 it is asked in the call's own
// answer. Before, the server does not say: it is clear when one call runs, and anybody's guess when several do; then nil.
func (l *link) about(ctx context.Context) (p *presence, ordinal int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, known := ctx.Value(errandKey{}).(*errand)
	for _, one := range l.errands {
		if known && one.errand == own {
			p = one
		}
	}
	if !known && len(l.errands) == 1 {
		p = l.errands[0]
	}
	if p == nil {
		return nil, 0
	}
	p.asked++
	return p, p.asked
}

// elicit puts a question of the server to the person whose call it carries out, as an approval, and waits for the answer: at most as
// long as that call lasts. An error of ours is none of the server's business: it is told that nobody has answered.
func (l *link) elicit(ctx context.Context, message string, schema json.RawMessage) (action string, content json.RawMessage, err error) {
	u := l.u
	p, ordinal := l.about(ctx)
	if p == nil {
		u.log.Warn("a question of the server was dismissed: it is not known which call it is about",
			"help", "set supportsParallelToolCalls to false, or scope to session")
		return dismiss, nil, nil
	}
	q, err := p.question(u.name, u.s.redact(message), json.RawMessage(u.s.redact(string(schema))), ordinal)
	if err != nil {
		u.log.Warn("a question of the server cannot be asked", "call", p.call.Call, "error", u.s.redact(err.Error()))
		return decline, nil, nil
	}
	q.Expires = u.s.conn.Now().Add(time.Until(p.due)).UTC().Round(0) // for the others
	ctx, cancel := context.WithDeadline(ctx, p.due)
	defer cancel()
	action, content, err = u.s.ask(ctx, p, q)
	switch {
	case errors.Is(err, errCallOver):
		u.log.Debug("a question of the server was dismissed", "call", p.call.Call, "question", q.Question, "error", err)
		return dismiss, nil, nil
	case err != nil:
		u.log.Warn("a question of the server was dismissed", "call", p.call.Call, "question", q.Question, "error", err)
		return dismiss, nil, nil
	}
	u.log.Info("a question of the server was answered", "call", p.call.Call, "question", q.Question, "action", action)
	return action, content, nil
}

// question is what a person is asked.
func (p *presence) question(server, message string, schema json.RawMessage, ordinal int) (callv1.Asked, error) {
	f, err := form.Parse(schema)
	if err != nil {
		return callv1.Asked{}, err
	}
	if schema, err = canonical.JSON(schema); err != nil || string(schema) == "null" {
		schema = json.RawMessage(`{}`) // none at all is read as this
	}
	content, err := f.Defaults()
	if err != nil {
		return callv1.Asked{}, err
	}
	d := p.call
	q := callv1.Asked{
		Request: callv1.Request{
			Turn: d.Turn, Call: d.Call, Index: d.Index, Tool: d.Tool, Executor: d.Executor, Arguments: content,
			Digest: canonical.Digest(content), Level: toolv1.L2, Policy: d.Policy,
		},
		Attempt: p.attempt, Question: fmt.Sprintf("%s/%s/%d/%d", d.Turn, d.Call, p.attempt, ordinal),
		Message: form.Lines(message, maxMessage), Schema: schema, Shown: f.Show(content), Expires: p.due.UTC().Round(0),
	}
	q.ToolDigest = callv1.QuestionDigest(d.ToolDigest, q.Question, q.Message, q.Schema)
	q.Why = words(server, d.Tool, q.Message)
	return q, nil
}

// words say who asks what, the server's words in quotes, in lines that nobody cuts.
func words(server, tool, message string) []string {
	rest := form.Line(message, maxMessage)
	piece := func() string {
		n := min(len(rest), maxWhy)
		for n > 0 && n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		one := rest[:n]
		rest = rest[n:]
		return strconv.QuoteToGraphic(one)
	}
	lines := []string{fmt.Sprintf("The MCP server %s asks, in the middle of %s: %s", server, tool, piece())}
	for rest != "" {
		lines = append(lines, "… "+piece())
	}
	return lines
}

var errCallOver = errors.New("the call is over")

// ask tells that a question is asked, and waits for its end.
func (s *Service) ask(ctx context.Context, p *presence, q callv1.Asked) (action string, content json.RawMessage, err error) {
	news := make(chan struct{}, 1)
	ends := []string{
		envelope.KindOf(approvalv1.Decided{}.EventType()), envelope.KindOf(approvalv1.Expired{}.EventType()),
		envelope.KindOf(approvalv1.Cancelled{}.EventType()), envelope.KindOf(approvalv1.Voided{}.EventType()),
	}
	if err := s.conn.Watch(ctx, ends, func(ev envelope.Event) {
		if ev.Session != p.session {
			return
		}
		select {
		case news <- struct{}{}:
		default:
		}
	}); err != nil {
		return "", nil, err
	}
	if err := s.put(ctx, p, q); err != nil {
		return "", nil, err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		switch a, err := s.lookUp(ctx, p, q); {
		case errors.Is(err, errCallOver):
			return "", nil, err
		case err == nil && a.Over:
			return s.answer(p, q, a)
		}
		select {
		case <-news:
		case <-tick.C:
		case <-p.gone:
			return "", nil, errCallOver
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
	}
}

// put tells that a question is asked, unless its call is over.
func (s *Service) put(ctx context.Context, p *presence, q callv1.Asked) error {
	ev := envelope.Event{Session: p.session, Cause: p.claim.ID, Trace: p.claim.Trace, Body: q}
	s.conn.Journal().Stamp(&ev)
	for try := range maxPuts {
		open, cursor, err := s.openCall(ctx, p)
		if err != nil {
			return err
		}
		if open.Ask != nil && open.Ask.Question == q.Question {
			return nil // its acknowledgement was lost
		}
		ev.Prev = cursor
		_, err = s.conn.Journal().Append(ctx, ev)
		if err == nil {
			return nil
		}
		if news, lost := errors.AsType[*bus.Conflict](err); lost {
			if err := news.Settle(ctx, try); err != nil {
				return err
			}
			continue
		}
		if k := fault.KindOf(err); k != fault.Timeout && k != fault.Unavailable {
			return err
		}
		select {
		case <-time.After(putPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return fault.New(fault.Busy, "%s changed %d times meanwhile", p.session, maxPuts)
}

// openCall is the call as the journal has it now; errCallOver when this claim of it is not open any more.
func (s *Service) openCall(ctx context.Context, p *presence) (execution.Call, uint64, error) {
	st, cursor, err := s.actor.Fold(ctx, p.session, 0)
	if err != nil {
		return execution.Call{}, 0, err
	}
	open, ok := st.Open(execution.Part(p.claim))
	if !ok || open.Over || open.Attempt != p.attempt {
		return open, cursor, errCallOver
	}
	return open, cursor, nil
}

// lookUp is what has become of a question.
func (s *Service) lookUp(ctx context.Context, p *presence, q callv1.Asked) (execution.Ask, error) {
	open, _, err := s.openCall(ctx, p)
	switch {
	case err != nil:
		return execution.Ask{}, err
	case open.Ask == nil || open.Ask.Question != q.Question:
		return execution.Ask{}, fmt.Errorf("%w: it asks something else", errCallOver)
	}
	return *open.Ask, nil
}

// answer is what a server is told of a question that is over. Only what the approvals service has signed for this very question is
// sent, and only if it fits.
func (s *Service) answer(p *presence, q callv1.Asked, a execution.Ask) (action string, content json.RawMessage, err error) {
	d := a.Decided
	switch {
	case d == nil:
		return "", nil, errors.New("nobody has answered in time")
	case !d.Answer.Decision.Allows():
		return decline, nil, nil
	}
	sent := q.Request
	if d.Edited != nil { // all else is as it was asked
		sent.Arguments, sent.Digest = d.Edited.Arguments, d.Edited.Digest
	}
	if d.Answer.ID != a.Approval || !d.Answer.Verify(s.key, p.session, sent) ||
		d.Edited == nil && d.Answer.Shown != canonical.Digest([]byte(q.Shown)) {
		return "", nil, errors.New("the answer is not signed for this question")
	}
	f, err := form.Parse(q.Schema)
	if err == nil {
		err = f.Check(sent.Arguments)
	}
	if err == nil {
		content, err = canonical.JSON(sent.Arguments)
	}
	if err != nil {
		return "", nil, errors.New("the answer does not fit the question")
	}
	return accept, content, nil
}
