package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// Open is the status of an approval that is not over.
const Open = "open"

// View is one approval, as get and list show it. Of one that is over only the middle is missing.
type View struct {
	Approval  string     `json:"approval"`
	Session   session.ID `json:"session"`
	Status    string     `json:"status"` // open, or an approval.Outcome
	Turn      string     `json:"turn"`
	Call      string     `json:"call"`
	Tool      string     `json:"tool"`
	Expires   time.Time  `json:"expires"`
	Approvers []string   `json:"approvers"`

	Executor  string          `json:"executor,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Level     toolv1.Level    `json:"level,omitempty"`
	Policy    string          `json:"policy,omitempty"`
	Why       []string        `json:"why,omitempty"`
	Shown     string          `json:"shown,omitempty"` // exactly what runs
	// Schema is that of the arguments, where a call that runs asks for them: nothing else runs, but they are sent.
	Schema json.RawMessage `json:"schema,omitzero"`
	Always bool            `json:"always,omitempty"`
	Fixed  string          `json:"fixed,omitempty"` // what "always" would hold for
	Since  time.Time       `json:"since,omitzero"`  // when the call was parked

	Decision callv1.Decision `json:"decision,omitempty"`
	By       string          `json:"by,omitempty"`
	At       time.Time       `json:"at,omitzero"` // of its end
	Reason   string          `json:"reason,omitempty"`
	Text     string          `json:"text,omitempty"`
}

// GetRequest asks for one approval (svc.approvals.get); the answer is a View.
type GetRequest struct {
	Approval string `json:"approval"`
	Session  string `json:"session,omitempty"` // of the approval, when it is known
}

// ListRequest asks for the open approvals (svc.approvals.list), oldest first.
type ListRequest struct {
	Session string `json:"session,omitempty"`
	All     bool   `json:"all,omitempty"` // with the last ones that are over
}

// List is the answer. A long one is cut: More says how many open approvals, at least, are missing.
type List struct {
	Approvals []View `json:"approvals"`
	More      int    `json:"more,omitempty"`
	// Unread are sessions with open approvals that cannot be read, as an event of theirs is missing.
	Unread []session.ID `json:"unread,omitempty"`
}

// WhoRequest asks who may decide approvals now (svc.approvals.approvers).
type WhoRequest struct{}

// Who are their identities.
type Who struct {
	Approvers []string `json:"approvers"`
}

func (s *Service) answerWho(_ context.Context, data []byte) (any, error) {
	if _, err := bus.Question[WhoRequest](data); err != nil {
		return nil, err
	}
	return Who{Approvers: s.owners.now()}, nil
}

const (
	answerBytes = 512 << 10 // of the views in one answer
	answerViews = 500
	answerOver  = 100 // of those that are over
)

func (s *Service) answerGet(ctx context.Context, data []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := bus.Question[GetRequest](data)
	if err != nil {
		return nil, err
	}
	id, err := s.sessionOf(ctx, r.Approval, r.Session)
	if err != nil {
		return nil, err
	}
	st, _, err := s.actor.Fold(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	if a, ok := st.Find(strings.ToLower(r.Approval)); ok && a.Asked {
		return s.openView(id, a), nil
	}
	if o, ok := st.Over(strings.ToLower(r.Approval)); ok {
		return overView(id, o), nil
	}
	return nil, noApproval(r.Approval)
}

func noApproval(id string) error { return fault.New(fault.NotFound, "there is no approval %.40q", id) }

// indexTime is how long a question waits for the index.
const indexTime = 5 * time.Second

// sessionOf is the session of an approval.
func (s *Service) sessionOf(ctx context.Context, about, given string) (session.ID, error) {
	if given != "" {
		id, err := session.Parse(given)
		if err != nil {
			return "", fault.New(fault.Invalid, "session: %w", err)
		}
		return id, nil
	}
	about = strings.ToLower(about)
	if id, ok := s.index.find(about); ok {
		return id, nil
	}
	if err := s.indexed(ctx); err != nil {
		return "", err
	}
	if id, ok := s.index.await(ctx, about); ok {
		return id, nil
	}
	return "", noApproval(about)
}

// indexed waits for the index.
func (s *Service) indexed(ctx context.Context) error {
	limit := time.NewTimer(indexTime)
	defer limit.Stop()
	select {
	case <-s.index.ready:
		return nil
	case <-limit.C:
	case <-ctx.Done():
	}
	return fault.New(fault.Unavailable, "the journal is still being read; try again, or name the session")
}

func (s *Service) answerList(ctx context.Context, data []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := bus.Question[ListRequest](data)
	if err != nil {
		return nil, err
	}
	l := &listing{s: s, room: answerBytes, folds: make(map[session.ID]approval.State), out: List{Approvals: []View{}}}
	if r.Session != "" {
		id, err := s.sessionOf(ctx, "", r.Session)
		if err != nil {
			return nil, err
		}
		return l.ofSession(ctx, id, r.All)
	}
	if err := s.indexed(ctx); err != nil {
		return nil, err
	}
	return l.ofAll(ctx, r.All)
}

// listing is one answer in the making.
type listing struct {
	s     *Service
	room  int
	folds map[session.ID]approval.State
	out   List
}

func (l *listing) fold(ctx context.Context, id session.ID) (approval.State, error) {
	if st, ok := l.folds[id]; ok {
		return st, nil
	}
	st, _, err := l.s.actor.Fold(ctx, id, 0)
	if err == nil {
		l.folds[id] = st
	}
	return st, err
}

// unread notes a session that cannot be folded: the others are listed all the same.
func (l *listing) unread(id session.ID, err error) bool {
	if !errors.Is(err, bus.ErrNoEvent) {
		return false
	}
	if !slices.Contains(l.out.Unread, id) {
		l.out.Unread = append(l.out.Unread, id)
	}
	return true
}

// add takes a view if there is room.
func (l *listing) add(v View) bool {
	data, err := json.Marshal(v)
	if err != nil || len(l.out.Approvals) >= answerViews || len(data) > l.room && len(l.out.Approvals) > 0 {
		return false
	}
	l.room -= len(data)
	l.out.Approvals = append(l.out.Approvals, v)
	return true
}

func (l *listing) ofSession(ctx context.Context, id session.ID, all bool) (List, error) {
	st, err := l.fold(ctx, id)
	if err != nil {
		return List{}, err
	}
	for _, a := range st.Open {
		if a.Asked && !l.add(l.s.openView(id, a)) {
			l.out.More++
		}
	}
	if all {
		l.over(id, st, len(st.Settled))
	}
	return l.out, nil
}

func (l *listing) ofAll(ctx context.Context, all bool) (List, error) {
	open := l.s.index.all()
	for i, e := range open {
		st, err := l.fold(ctx, e.session)
		if l.unread(e.session, err) {
			continue
		}
		if err != nil {
			return List{}, err
		}
		a, ok := st.Find(e.id)
		if !ok {
			l.s.index.close(e.id, e.session) // closed by what became of its call
			continue
		}
		if !l.add(l.s.openView(e.session, a)) {
			l.out.More = len(open) - i
			break
		}
	}
	if !all {
		return l.out, nil
	}
	left := answerOver
	for _, id := range l.s.index.over(answerOver) {
		st, err := l.fold(ctx, id)
		if l.unread(id, err) {
			continue
		}
		if err != nil {
			return List{}, err
		}
		left -= l.over(id, st, left)
	}
	return l.out, nil
}

// over adds the newest of a session that are over, at most limit.
func (l *listing) over(id session.ID, st approval.State, limit int) (added int) {
	for _, o := range slices.Backward(st.Settled) {
		if added >= limit || !l.add(overView(id, o)) {
			break
		}
		added++
	}
	return added
}

func (s *Service) openView(id session.ID, a approval.Approval) View {
	r := a.Request()
	v := View{
		Approval: a.ID, Session: id, Status: Open, Turn: r.Turn, Call: r.Call, Tool: r.Tool, Expires: a.Expires,
		Approvers: a.Approvers, Executor: r.Executor, Arguments: r.Arguments, Level: r.Level, Policy: r.Policy,
		Why: a.Parked.Why, Shown: a.Parked.Shown, Always: a.Always(), Since: a.At,
	}
	if v.Always {
		v.Fixed = a.Parked.Fixed
	}
	if a.Form != nil {
		v.Schema = a.Form.Schema
	}
	switch {
	case a.Over: // the event that says so is on its way
		v.Status = string(approval.Cancelled)
	case !s.now().Before(a.Expires):
		v.Status = string(approval.Expired)
	}
	return v
}

func overView(id session.ID, o approval.Settled) View {
	return View{
		Approval: o.ID, Session: id, Status: string(o.Outcome), Turn: o.Turn, Call: o.Call, Tool: o.Tool, Expires: o.Expires,
		Approvers: o.Approvers, Decision: o.Decision, By: o.By, At: o.At, Reason: o.Reason, Text: o.Text,
	}
}
