package approvals

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// index knows in which session an approval is. It is a hint, late or short at times: who finds something here asks the
// fold. Bounded by the open approvals and closedKept. Safe for concurrent use.
type index struct {
	ready chan struct{} // closed once the journal was read

	mu       sync.Mutex
	open     map[string]entry      // guarded by mu; by approval
	closed   map[string]session.ID // guarded by mu; the last that are over
	order    []string              // guarded by mu; a ring of closed
	oldest   int                   // guarded by mu; of order
	policies map[string]string     // guarded by mu; one copy of each version: all entries share few
	news     chan struct{}         // guarded by mu; closed at the next change; nil while nobody waits
}

// entry is an open approval.
type entry struct {
	id      string
	session session.ID
	policy  string // "": none decides about it
	expires time.Time
	cursor  uint64 // of approval.requested
}

// closedKept is how many approvals that are over can be found without their session.
const closedKept = 4096

func newIndex() *index {
	return &index{
		ready: make(chan struct{}), open: make(map[string]entry), closed: make(map[string]session.ID),
		policies: make(map[string]string),
	}
}

// note takes an event of the journal. They come in no order: what is over stays over, as ids are never used again.
func (x *index) note(ev envelope.Event) {
	switch b := ev.Body.(type) {
	case approvalv1.Requested:
		e := entry{id: b.Approval, session: ev.Session, policy: b.Policy, expires: b.Expires, cursor: ev.Cursor}
		if b.Schema != nil { // a question in the middle of a call that runs
			e.policy = ""
		}
		x.add(e)
	case approvalv1.Decided:
		x.close(b.Approval, ev.Session)
	case approvalv1.Expired:
		x.close(b.Approval, ev.Session)
	case approvalv1.Cancelled:
		x.close(b.Approval, ev.Session)
	case approvalv1.Voided:
		x.close(b.Approval, ev.Session)
	}
}

func (x *index) add(e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, over := x.closed[e.id]; over {
		return
	}
	if p, ok := x.policies[e.policy]; ok {
		e.policy = p
	} else {
		if len(x.policies) >= closedKept {
			clear(x.policies)
		}
		x.policies[e.policy] = e.policy
	}
	x.open[e.id] = e
	x.tell()
}

// tell is called with mu held.
func (x *index) tell() {
	if x.news != nil {
		close(x.news)
		x.news = nil
	}
}

func (x *index) close(id string, s session.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, id)
	if _, known := x.closed[id]; known {
		return
	}
	x.closed[id] = s
	x.tell()
	if len(x.order) < closedKept {
		x.order = append(x.order, id)
		return
	}
	delete(x.closed, x.order[x.oldest])
	x.order[x.oldest] = id
	x.oldest = (x.oldest + 1) % closedKept
}

func (x *index) find(id string) (session.ID, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.at(id)
}

// at is called with mu held.
func (x *index) at(id string) (session.ID, bool) {
	if e, ok := x.open[id]; ok {
		return e.session, true
	}
	s, ok := x.closed[id]
	return s, ok
}

// lag is how long the bus may take to announce what it has stored: who has just read a question may be quicker.
const lag = 500 * time.Millisecond

// await is find for something that is perhaps only late.
func (x *index) await(ctx context.Context, id string) (session.ID, bool) {
	limit := time.NewTimer(lag)
	defer limit.Stop()
	for {
		x.mu.Lock()
		s, ok := x.at(id)
		if x.news == nil {
			x.news = make(chan struct{})
		}
		news := x.news
		x.mu.Unlock()
		if ok {
			return s, true
		}
		select {
		case <-news:
		case <-limit.C:
			return "", false
		case <-ctx.Done():
			return "", false
		}
	}
}

// all are the open approvals, oldest first.
func (x *index) all() []entry {
	x.mu.Lock()
	list := make([]entry, 0, len(x.open))
	for _, e := range x.open {
		list = append(list, e)
	}
	x.mu.Unlock()
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.cursor, b.cursor) })
	return list
}

// over are the sessions of at most limit approvals that are over, newest first.
func (x *index) over(limit int) []session.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []session.ID
	for i := range min(limit, len(x.order)) {
		at := (x.oldest - 1 - i + 2*len(x.order)) % len(x.order)
		if s := x.closed[x.order[at]]; !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
