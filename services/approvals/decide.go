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
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// local is whoever can read the keys of the home, and so may ask svc.approvals.decide.
const local = "local"

// maxVia bounds the name of a program, in bytes.
const maxVia = 100

// callTime bounds what an endpoint does.
const callTime = 10 * time.Second

// DecideRequest answers an approval (svc.approvals.decide).
type DecideRequest struct {
	Approval string          `json:"approval"`
	Session  string          `json:"session,omitempty"` // of the approval, when it is known
	Decision callv1.Decision `json:"decision"`
	Reason   string          `json:"reason,omitempty"` // of a denial; the model is told
	// Arguments replace what was asked about: a JSON object. They are judged like those of any call.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Via is the program that passes the answer on, as it names itself; it decides nothing and is written down.
	Via string `json:"via,omitempty"`
}

// DecideAnswer says that the approval is decided as asked for. All else is a fault: NotFound, Denied (not an approver),
// Conflict (decided otherwise, expired, cancelled, void), Invalid (the approval stays open), Unavailable.
type DecideAnswer struct {
	Approval string           `json:"approval"`
	Session  session.ID       `json:"session"`
	Status   approval.Outcome `json:"status"` // allowed, denied
	Already  bool             `json:"already,omitempty"`
	Text     string           `json:"text"`
}

func (s *Service) answerDecide(ctx context.Context, data []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := bus.Question[DecideRequest](data)
	if err != nil {
		return nil, err
	}
	id, err := s.sessionOf(ctx, r.Approval, r.Session)
	if err != nil {
		return nil, err
	}
	x := approval.Answer{
		Approval: strings.ToLower(r.Approval), By: local, Decision: r.Decision, Reason: r.Reason, Arguments: r.Arguments, Via: r.Via,
	}
	if len(x.Via) > maxVia {
		return nil, fault.New(fault.Invalid, "via has %d bytes, at most %d", len(x.Via), maxVia)
	}
	if string(x.Arguments) == "null" {
		x.Arguments = nil
	}
	ruling, err := s.settle(ctx, id, x.Approval, func(st approval.State) (approval.Ruling, error) {
		return s.rule(ctx, id, st, x)
	})
	if err != nil {
		return nil, err
	}
	if kind := faultOf(ruling.Kind); kind != "" {
		return nil, fault.New(kind, "%s", ruling.Text)
	}
	out := DecideAnswer{Approval: x.Approval, Session: id, Status: approval.Denied, Already: ruling.Kind == approval.Same, Text: ruling.Text}
	if x.Decision.Allows() {
		out.Status = approval.Allowed
	}
	return out, nil
}

// rule is the machine's ruling on an answer, after the gate was asked where it has to be.
func (s *Service) rule(ctx context.Context, id session.ID, st approval.State, x approval.Answer) (approval.Ruling, error) {
	ruling := st.Decide(id, x, s.now(), s.rules(), nil)
	if ruling.Kind != approval.Unheard {
		return ruling, nil
	}
	verdict, err := s.gate.judge(ctx, id, ruling.Question)
	if err != nil {
		s.log.Warn("the gate could not be asked", "session", id, "approval", x.Approval, "error", err)
		return ruling, nil
	}
	return st.Decide(id, x, s.now(), s.rules(), &verdict), nil
}

// faultOf is the border's name for what did not come to the decision that was asked for, "" for what did.
func faultOf(k approval.Kind) fault.Kind {
	switch k {
	case approval.Wins, approval.Same:
		return ""
	case approval.Missing:
		return fault.NotFound
	case approval.Stranger:
		return fault.Denied
	case approval.Lost, approval.Late, approval.Gone, approval.Voids:
		return fault.Conflict
	case approval.Wrong:
		return fault.Invalid
	case approval.Unheard:
		return fault.Unavailable
	}
	return fault.Internal
}

const (
	maxTries = 64
	pause    = 50 * time.Millisecond // after an append of which nobody knows what became
)

// settle lets rule decide about one approval on the newest fold, and appends what it says, until that is stored or there is
// nothing to store. Those of one session take turns.
func (s *Service) settle(
	ctx context.Context, id session.ID, about string, rule func(approval.State) (approval.Ruling, error),
) (approval.Ruling, error) {
	leave, err := s.queues.enter(ctx, id)
	if err != nil {
		return approval.Ruling{}, err
	}
	defer leave()
	var mine []string // ids of events that may be stored
	var last approval.Ruling
	for try := range maxTries {
		st, cursor, err := s.actor.Fold(ctx, id, 0)
		if err != nil {
			return approval.Ruling{}, err
		}
		if o, ok := st.Over(about); ok && slices.Contains(mine, o.Event) {
			return last, nil // its acknowledgement was lost
		}
		ruling, err := rule(st)
		if err != nil || ruling.Body == nil {
			return ruling, err
		}
		open, _ := st.Find(about)
		ev := envelope.Event{Session: id, Prev: cursor, Cause: open.Last, Body: ruling.Body, Rules: s.digest()}
		s.conn.Journal().Stamp(&ev)
		mine, last = append(mine, ev.ID), ruling
		_, err = s.conn.Journal().Append(ctx, ev)
		if err == nil {
			return ruling, nil
		}
		if news, lost := errors.AsType[*bus.Conflict](err); lost {
			if err := news.Settle(ctx, try); err != nil {
				return approval.Ruling{}, err
			}
			continue
		}
		if k := fault.KindOf(err); k != fault.Timeout && k != fault.Unavailable {
			return approval.Ruling{}, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return approval.Ruling{}, err
		}
	}
	return approval.Ruling{}, fault.New(fault.Busy, "%s changed %d times meanwhile; try again", id, maxTries)
}
