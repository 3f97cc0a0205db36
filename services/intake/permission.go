package intake

import (
	"context"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// passedOn is what whoever has answered a program's question is told.
const passedOn = "Passed on."

// answering is what came in as the answer to the question of a program that it is, else as it was. Of anybody but an owner it is
// a message like any other, as is one to a question that nobody waits for.
func (s *Service) answering(ctx context.Context, state thread.State, in inbound) (inbound, error) {
	b, ok := in.body.(messagev1.Received)
	if !ok {
		return in, nil
	}
	a, ok := thread.AnswerOf(b)
	if !ok {
		return in, nil
	}
	if a.Notice = state.Waits(a.Request, time.Now()); a.Notice == "" {
		return in, nil
	}
	if ok, err := s.owns(ctx, b.From.ID); !ok || err != nil {
		return in, err
	}
	in.body, in.event.Body = a, a
	return in, nil
}

// owns says whether somebody may decide in the owner's name: by the configuration, or let in as an owner and not sent away
// since.
func (s *Service) owns(ctx context.Context, who string) (bool, error) {
	if slices.Contains(s.owners, who) {
		return true, nil
	}
	if !s.joinOwners {
		return false, nil
	}
	st, _, err := s.access.Fold(ctx, accessv1.Session, 0)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(st.People(), func(p access.Person) bool { return p.Owner && p.Who == who }), nil
}
