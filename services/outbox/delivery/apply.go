package delivery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the form of State and the meaning of Apply. It changes whenever one of them does.
const Version = "8"

// stopped is what a person is told about messages that were cancelled, when the event itself carries no text.
const stopped = "Stopped."

// Apply folds one committed event.
func (s State) Apply(ev envelope.Event) State {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		return s.received(ev, b)
	case messagev1.Refused:
		if b.Tell { // else the sender has a receipt that says it
			return s.add(ev, b.Detail, nil)
		}
	case turnv1.Started:
		s.Speaks = b.Turn
	case turnv1.Continued:
		s.Speaks = b.Turn
	case turnv1.Resumed:
		s.Speaks = b.Turn
	case turnv1.Stepped: // its text is shown where a draft shows a part of it already
		return s.stepped(ev, b)
	case turnv1.Completed:
		return s.ended(ev, b.Turn, item{text: b.Text, answers: b.Answers})
	case turnv1.Failed:
		return s.ended(ev, b.Turn, item{text: b.Text, answers: b.Answers})
	case turnv1.Cancelled:
		text := b.Text
		if len(b.Answers) > 0 {
			text = cmp.Or(text, stopped)
		}
		return s.ended(ev, b.Turn, item{text: text, answers: b.Answers})
	case noticev1.Posted:
		return s.posted(ev, b)
	case approvalv1.Event:
		return s.approval(ev, b)
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
		return State{Deleted: true} // what was not shown yet was purged with the rest
	case deliveryv1.Event:
		return s.move(ev, b)
	}
	return s
}

// posted shows a notice. One of this service's own was sent: what has a key is remembered by it.
func (s State) posted(ev envelope.Event, b noticev1.Posted) State {
	if _, known := s.Posted(ev.ID); b.Service == service && ev.Key != "" && !known {
		s.Sends = last(s.Sends, Send{ID: ev.ID, Cursor: ev.Cursor}, maxSends)
	}
	if b.Quiet {
		return s
	}
	return s.add(ev, b.Text, b.Answers)
}

const service = "outbox"

// received keeps what an answer may have to name.
func (s State) received(ev envelope.Event, b messagev1.Received) State {
	s.Deleted = false
	if b.Group && b.Native != "" {
		s.Natives = last(s.Natives, Native{ID: ev.ID, Native: b.Native}, maxNatives)
	}
	return s
}

// last appends to a bounded list; the oldest go.
func last[E any](list []E, e E, most int) []E {
	list = list[max(0, len(list)+1-most):]
	return append(slices.Clip(list), e) // clipped: the append copies, so that no other State sees it
}

// approval adds what concerns one.
func (s State) approval(ev envelope.Event, b approvalv1.Event) State {
	switch b := b.(type) {
	case approvalv1.Requested:
		return s.push(ev, item{text: b.Text, ways: b.Ways, approval: b.Approval, always: b.Grant != ""})
	case approvalv1.Decided:
		return s.push(ev, item{text: b.Text, approval: b.Approval, answers: b.Answers})
	case approvalv1.Expired:
		return s.push(ev, item{text: b.Text, approval: b.Approval})
	case approvalv1.Voided:
		return s.push(ev, item{text: b.Text, approval: b.Approval})
	case approvalv1.Cancelled: // whoever ended its turn is told that; only a question that is shown has to be settled there
		if s.asks(b.Approval) {
			return s.push(ev, item{text: withdrawn, approval: b.Approval})
		}
	}
	return s
}

// withdrawn is what a question says whose turn was ended.
const withdrawn = "There is nothing to decide any more: what this was for has ended."

// asks says that a push channel shows a question, or is about to.
func (s State) asks(approval string) bool {
	_, shown := s.Prompt(approval)
	return shown || slices.ContainsFunc(s.Queue, func(i Item) bool { return i.Approval == approval && (i.Attempt > 0 || i.Part > 0) })
}

// by is the command that something answers, if there is one.
func by(command string) []string {
	if command == "" {
		return nil
	}
	return []string{command}
}

func (s State) add(ev envelope.Event, text string, answers []string) State {
	return s.push(ev, item{text: text, answers: answers})
}

// item is what an event says of the item that it carries.
type item struct {
	text     string
	answers  []string
	approval string
	always   bool
	ways     string
	draft    *Draft
}

// push adds an item, unless it has nothing to show or is known.
func (s State) push(ev envelope.Event, i item) State {
	name := Name{ID: ev.ID, Key: ev.Key}
	if strings.TrimSpace(i.text) == "" || s.knows(name) {
		return s
	}
	it := Item{
		Name: name, Kind: ev.Kind(), Text: i.text, Approval: i.approval, Always: i.always, Ways: i.ways, Answers: slices.Clone(i.answers),
		Draft: i.draft, Reply: s.native(i.answers), Phase: Pending, Last: ev.ID,
	}
	if it.Draft != nil {
		it.At = wall(ev.Time)
	}
	if it.Approval != "" {
		it.Cursor = ev.Cursor
	}
	s.Channel = ev.Session.Channel()
	s.Queue = append(slices.Clip(s.Queue), it) // clipped: the append copies, so that no other State sees it
	return s
}

// native is the channel's id of the last message that is answered, where it is known.
func (s State) native(answers []string) string {
	for _, n := range slices.Backward(s.Natives) {
		if slices.Contains(answers, n.ID) {
			return n.Native
		}
	}
	return ""
}

// move folds an event of the outbox. What does not fit the open attempt of the head is a duplicate, or comes from a worker that
// lost its claim.
func (s State) move(ev envelope.Event, b deliveryv1.Event) State {
	switch b := b.(type) {
	case deliveryv1.Drafting:
		return s.drafting(b)
	case deliveryv1.Drafted:
		return s.drafted(b)
	case deliveryv1.Started:
		if head, ok := s.at(b.Ref); ok && head.Phase != Started && b.Attempt == head.Attempt+1 {
			head.Last = ev.ID
			return s.replaceHead(head.started(ev, b))
		}
	case deliveryv1.Sent:
		if head, ok := s.at(b.Ref); ok && b.Attempt == head.due() {
			return s.sent(ev, head, b)
		}
	case deliveryv1.Failed:
		if head, ok := s.at(b.Ref); ok && head.failsAt(b.Attempt) {
			return s.dropHead()
		}
	case deliveryv1.Deferred:
		if head, ok := s.open(b.Ref); ok {
			return s.replaceHead(head.deferred(ev, b))
		}
	case deliveryv1.Unknown:
		head, ok := s.open(b.Ref)
		switch {
		case !ok:
		case !b.Resend:
			return s.dropHead() // held: only a person moves it again
		default:
			head = head.closed(Unknown)
			head.Last, head.Since, head.Repeat = ev.ID, wall(ev.Time), true
			return s.replaceHead(head)
		}
	}
	return s
}

// at is the head, if a ref names the part of it that is to be sent.
func (s State) at(r deliveryv1.Ref) (Item, bool) {
	head, ok := s.Head()
	return head, ok && r.Delivery == head.ID && r.Part == head.Part
}

// open is the head, if a ref names the attempt of it that is claimed.
func (s State) open(r deliveryv1.Ref) (Item, bool) {
	head, ok := s.at(r)
	return head, ok && head.Phase == Started && r.Attempt == head.Attempt
}

// sent ends a part of the head, and with the last one the head.
func (s State) sent(ev envelope.Event, head Item, b deliveryv1.Sent) State {
	if b.More {
		head.Last = ev.ID
		return s.replaceHead(head.nextPart())
	}
	return s.settle(head, b.Receipt).dropHead()
}

func (i Item) deferred(ev envelope.Event, b deliveryv1.Deferred) Item {
	i = i.closed(Deferred)
	i.Last, i.Since, i.Due, i.Reason = ev.ID, wall(ev.Time), wall(b.Until), b.Reason
	if b.Untried {
		i.Untried++
	}
	return i
}

// settle keeps what a question was shown as, until it is settled there.
func (s State) settle(head Item, receipt string) State {
	if head.Approval == "" {
		return s
	}
	if n := slices.IndexFunc(s.Prompts, func(p Prompt) bool { return p.Approval == head.Approval }); n >= 0 {
		s.Prompts = without(s.Prompts, n)
	}
	if head.Kind == asked && receipt != "" {
		s.Prompts = last(s.Prompts, Prompt{Approval: head.Approval, Cursor: head.Cursor, Receipt: receipt}, maxPrompts)
	}
	return s
}

var asked = envelope.KindOf(approvalv1.Requested{}.EventType())

// nextPart is the item when one part has arrived: the next one is as if it had not been tried.
func (i Item) nextPart() Item {
	i = i.closed(Pending)
	i.Part, i.Attempt, i.Untried, i.Repeat = i.Part+1, 0, 0, false
	i.Since, i.Begun, i.Due, i.Reason = time.Time{}, time.Time{}, time.Time{}, ""
	return i
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
