package delivery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the form of State and the meaning of Apply. It changes whenever one of them does.
const Version = "3"

// stopped is what a person is told about messages that were cancelled, when the event itself carries no text.
const stopped = "Stopped."

// Apply folds one committed event.
func (s State) Apply(ev envelope.Event) State {
	switch b := ev.Body.(type) {
	case turnv1.Completed:
		return s.add(ev, b.Text, b.Answers)
	case turnv1.Failed:
		return s.add(ev, b.Text, b.Answers)
	case turnv1.Cancelled:
		if len(b.Answers) == 0 {
			return s.add(ev, b.Text, nil)
		}
		return s.add(ev, cmp.Or(b.Text, stopped), b.Answers)
	case noticev1.Posted:
		return s.add(ev, b.Text, b.Answers)
	case approvalv1.Requested:
		return s.about(ev, b.Approval, b.Text, nil)
	case approvalv1.Decided:
		return s.about(ev, b.Approval, b.Text, b.Answers)
	case approvalv1.Expired:
		return s.about(ev, b.Approval, b.Text, nil)
	case approvalv1.Voided: // one that is cancelled shows nothing: whoever ended its turn is told that
		return s.about(ev, b.Approval, b.Text, nil)
	case turnv1.SessionReset: // what was said before it is still owed
		return s.add(ev, b.Text, by(b.By))
	case turnv1.SessionConfigured:
		return s.add(ev, b.Text, by(b.By))
	case turnv1.SessionCompacted:
		if b.By != "" { // what happened by itself is nobody's business
			return s.add(ev, b.Text, by(b.By))
		}
	case turnv1.CompactionFailed:
		if b.By != "" {
			return s.add(ev, b.Text, by(b.By))
		}
	case turnv1.SessionDeleted:
		return State{} // what was not shown yet was purged with the rest
	case deliveryv1.Event:
		return s.move(ev, b)
	}
	return s
}

// by is the command that something answers, if there is one.
func by(command string) []string {
	if command == "" {
		return nil
	}
	return []string{command}
}

func (s State) add(ev envelope.Event, text string, answers []string) State {
	return s.about(ev, "", text, answers)
}

// about adds what concerns an approval; "" when it concerns none.
func (s State) about(ev envelope.Event, approval, text string, answers []string) State {
	name := Name{ID: ev.ID, Key: ev.Key}
	if strings.TrimSpace(text) == "" || s.knows(name) {
		return s
	}
	return s.push(ev.Session.Channel(), Item{
		Name: name, Kind: ev.Kind(), Text: text, Approval: approval, Answers: slices.Clone(answers),
		Phase: Pending, Last: ev.ID,
	})
}

// move folds an event of the outbox on the head. What does not fit the head's attempt is a duplicate or comes from a
// worker that lost its claim.
func (s State) move(ev envelope.Event, b deliveryv1.Event) State {
	head, ok := s.Head()
	if !ok {
		return s
	}
	head.Last = ev.ID
	open := head.Phase == Started
	switch b := b.(type) {
	case deliveryv1.Started:
		if b.Delivery != head.ID || open || b.Attempt != head.Attempt+1 {
			return s
		}
		return s.replaceHead(head.started(ev, b))
	case deliveryv1.Sent:
		if b.Delivery != head.ID || b.Attempt != head.due() {
			return s
		}
		return s.dropHead()
	case deliveryv1.Failed:
		if b.Delivery != head.ID || !head.failsAt(b.Attempt) {
			return s
		}
		return s.dropHead()
	case deliveryv1.Deferred:
		if b.Delivery != head.ID || !open || b.Attempt != head.Attempt {
			return s
		}
		head = head.closed(Deferred)
		head.Since, head.Due, head.Reason = wall(ev.Time), wall(b.Until), b.Reason
		return s.replaceHead(head)
	case deliveryv1.Unknown:
		if b.Delivery != head.ID || !open || b.Attempt != head.Attempt {
			return s
		}
		if !b.Resend {
			return s.dropHead() // held: only a person moves it again
		}
		head = head.closed(Unknown)
		head.Since, head.Repeat = wall(ev.Time), true
		return s.replaceHead(head)
	}
	return s
}

func (i Item) started(ev envelope.Event, b deliveryv1.Started) Item {
	if i.Attempt == 0 {
		i.Begun = wall(ev.Time)
	}
	i.Phase, i.Attempt = Started, b.Attempt
	i.Claim, i.Worker, i.Deadline = ev.Cursor, b.Worker, wall(b.Deadline)
	i.Since, i.Due, i.Reason = wall(ev.Time), time.Time{}, ""
	return i
}

func (i Item) closed(p Phase) Item {
	i.Phase, i.Claim, i.Worker, i.Deadline = p, 0, "", time.Time{}
	return i
}

// due is the attempt that an outcome has to name: the open one, else the one that would be next (a mailbox channel's
// sent, which needs no claim).
func (i Item) due() int {
	if i.Phase == Started {
		return i.Attempt
	}
	return i.Attempt + 1
}

// failsAt: the open attempt failed, the closed one was the last, or no attempt was possible.
func (i Item) failsAt(attempt int) bool {
	return attempt == i.due() || attempt == i.Attempt && attempt > 0
}

// wall strips what JSON does not keep, so that a state in memory equals the one that was read back.
func wall(t time.Time) time.Time { return t.UTC().Round(0) }
