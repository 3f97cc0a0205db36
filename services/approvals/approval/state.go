package approval

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// State is the approvals of one session. Its zero value is a session without any. Values share nothing that is ever
// written: an old State stays as it was.
type State struct {
	Open  []Approval   `json:"open,omitempty"`  // in journal order of their calls
	Inbox []Submission `json:"inbox,omitempty"` // not yet answered, in journal order
	// Settled are the last approvals that are over, oldest first, at most settledKept: for late answers.
	Settled []Settled `json:"settled,omitempty"`
	// Answered are the last submissions that left the inbox, oldest first, at most answeredKept.
	Answered []Name `json:"answered,omitempty"`
	// Ended are the last turns that have ended, at most endedKept: nothing is asked for them any more.
	Ended []string `json:"ended,omitempty"`
}

const (
	settledKept  = 64
	answeredKept = 64
	endedKept    = 16
)

// Name is what a fact can be recognised by.
type Name struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty"` // the source's own key, when it has one
}

func (n Name) same(o Name) bool { return o.ID == n.ID || n.Key != "" && o.Key == n.Key }

// Approval is a question that is not over.
type Approval struct {
	ID     string          `json:"id"`
	Fact   Name            `json:"fact"` // the call.awaiting
	Parked callv1.Awaiting `json:"parked"`
	At     time.Time       `json:"at"`   // of the call.awaiting
	Last   string          `json:"last"` // id of the last event about it: the cause of the next
	// Form is set when it is a question in the middle of a call (call.asked, which is the fact): Parked is made of that.
	Form *Form `json:"form,omitempty"` // never written through
	// Over says that its turn has ended: it is to be cancelled.
	// So is a question whose call has an outcome, or has asked another.
	Over bool `json:"over,omitempty"`

	Asked     bool      `json:"asked,omitempty"`     // approval.requested is stored; the rest holds from then on
	Approvers []string  `json:"approvers,omitempty"` // who may decide
	Expires   time.Time `json:"expires,omitzero"`
}

// Form is what a question in the middle of a call asks for.
type Form struct {
	Schema json.RawMessage `json:"schema"`
	Until  time.Time       `json:"until"` // nobody waits for the answer any longer
}

// Request is what was parked, with its arguments in canonical form: on the wire some characters stand there as escapes.
func (a Approval) Request() callv1.Request {
	r := a.Parked.Request
	r.Arguments = canonicalOr(r.Arguments)
	return r
}

func canonicalOr(raw json.RawMessage) json.RawMessage {
	if c, err := canonical.JSON(raw); err == nil {
		return c
	}
	return raw // never equal to anything that was judged
}

// expiry is when the approval expires, or will when it is asked.
func (a Approval) expiry(r Rules) time.Time {
	if a.Asked {
		return a.Expires
	}
	at := a.At.Add(r.TTL)
	if a.Form != nil && a.Form.Until.Before(at) {
		return a.Form.Until
	}
	return at
}

// Always says whether "always" is possible.
func (a Approval) Always() bool { return a.Parked.Grant != "" && mayAlways(a.Parked.Level) }

// Submission is an answer that came through a channel.
type Submission struct {
	Name
	Answer
	At    time.Time `json:"at"`
	Quiet bool      `json:"quiet,omitempty"` // the sender learns where they asked what became of it
	Vague vagueness `json:"vague,omitempty"` // it names no approval, and why none could be taken for it
}

// vagueness says why an answer without an id is bound to no approval.
type vagueness string

const (
	nothingOpen vagueness = "nothing_open"
	strange     vagueness = "strange" // open ones, none of which the sender may decide
	several     vagueness = "several" // more than one is open
	crossed     vagueness = "crossed" // another was settled a moment ago: it may have been meant
)

// Outcome is how an approval ended.
type Outcome string

// The outcomes.
const (
	Allowed   Outcome = "allowed"
	Denied    Outcome = "denied"
	Expired   Outcome = "expired"
	Cancelled Outcome = "cancelled" // its turn or its call ended
	Voided    Outcome = "voided"
)

// Settled is an approval that is over.
type Settled struct {
	ID        string          `json:"id"`
	Fact      Name            `json:"fact"`
	Event     string          `json:"event"` // id of the event that ended it
	Turn      string          `json:"turn"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Form      bool            `json:"form,omitempty"` // it was a question in the middle of a call
	Outcome   Outcome         `json:"outcome"`
	At        time.Time       `json:"at"`
	Expires   time.Time       `json:"expires,omitzero"`
	Approvers []string        `json:"approvers,omitempty"`
	Decision  callv1.Decision `json:"decision,omitempty"`
	By        string          `json:"by,omitempty"`     // who decided
	Edited    string          `json:"edited,omitempty"` // digest of the arguments, when the person has changed them
	Reason    string          `json:"reason,omitempty"`
	Text      string          `json:"text,omitempty"` // as the channel showed it
}

// ID is the id of the approval that a call.awaiting or call.asked leads to.
func ID(s session.ID, event string) string { return approvalv1.ID(s, event) }

// Find is an open approval; false when there is none of that id.
func (s State) Find(id string) (Approval, bool) {
	if i := s.open(id); i >= 0 {
		return s.Open[i], true
	}
	return Approval{}, false
}

// Over is an approval that is settled; false when there is none of that id, or no longer.
func (s State) Over(id string) (Settled, bool) {
	for _, o := range slices.Backward(s.Settled) {
		if o.ID == id {
			return o, true
		}
	}
	return Settled{}, false
}

func (s State) open(id string) int {
	return slices.IndexFunc(s.Open, func(a Approval) bool { return a.ID == id })
}

func (s State) knowsCall(n Name) bool {
	return slices.ContainsFunc(s.Open, func(a Approval) bool { return n.same(a.Fact) }) ||
		slices.ContainsFunc(s.Settled, func(o Settled) bool { return n.same(o.Fact) })
}

func (s State) knowsSubmission(n Name) bool {
	return slices.ContainsFunc(s.Answered, n.same) ||
		slices.ContainsFunc(s.Inbox, func(b Submission) bool { return n.same(b.Name) })
}

// with replaces one open approval.
func (s State) with(i int, change func(*Approval)) State {
	s.Open = slices.Clone(s.Open)
	change(&s.Open[i])
	return s
}

// settle moves one open approval to those that are over.
func (s State) settle(i int, o Settled) State {
	a := s.Open[i]
	o.ID, o.Fact, o.Turn, o.Call, o.Tool = a.ID, a.Fact, a.Parked.Turn, a.Parked.Call, a.Parked.Tool
	o.Expires, o.Approvers, o.Form = a.Expires, a.Approvers, a.Form != nil
	s.Settled = appended(s.Settled, settledKept, o)
	s.Open = without(s.Open, i)
	return s
}

// answer takes submissions out of the inbox.
func (s State) answer(ids []string) State {
	for _, id := range ids {
		i := slices.IndexFunc(s.Inbox, func(b Submission) bool { return b.ID == id })
		if i < 0 {
			continue
		}
		s.Answered = appended(s.Answered, answeredKept, s.Inbox[i].Name)
		s.Inbox = without(s.Inbox, i)
	}
	return s
}

// appended is a copy of list with one more at its end, at most the newest limit.
func appended[T any](list []T, limit int, one T) []T {
	return slices.Concat(list[max(0, len(list)+1-limit):], []T{one})
}

func without[T any](list []T, i int) []T {
	if len(list) == 1 {
		return nil
	}
	return slices.Concat(list[:i], list[i+1:])
}

// wall strips what JSON does not keep, so that a state in memory equals the one that was read back.
func wall(t time.Time) time.Time { return t.UTC().Round(0) }
