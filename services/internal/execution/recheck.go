package execution

import (
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// What bus/recheck wants to know of the machine, beside Next.

// ClaimOf is the cursor of the open claim of a part; 0 for none.
func (s State) ClaimOf(part string) uint64 {
	c, _ := s.Open(part)
	return c.Claim
}

// Outcome is ev with all that the machine determines of it written anew; nil: no effect of the part's claim ends like this.
func (s State) Outcome(_ string, ev envelope.Event) envelope.Body {
	c, ok := s.Open(Part(ev))
	b, completes := ev.Body.(callv1.Completed)
	if !ok || !completes {
		return nil
	}
	b.Executor, b.Turn, b.Call, b.Attempt = c.Executor, c.Turn, c.Call, c.Attempt
	return b
}

// Timeless is body with the recorded deadline.
func Timeless(body, then envelope.Body) envelope.Body {
	b, ok := body.(callv1.Started)
	t, same := then.(callv1.Started)
	if !ok || !same {
		return body
	}
	b.Deadline = t.Deadline
	return b
}
