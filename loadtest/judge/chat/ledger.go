package chat

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// ledger is what the journal has of one session.
type ledger struct {
	id       session.ID
	chat     int64    // 0: nobody has written there
	entries  []*entry // in the order of the journal
	byID     map[string]*entry
	edits    []edit
	items    []*item // in the order of their first delivery
	byItem   map[string]*item
	events   map[string]envelope.Event // that show something
	drafts   map[string]bool           // receipts of drafts; true once one is an answer
	drafting int                       // drafts that were announced and have no receipt: they may be there
}

// entry is something that came in.
type entry struct {
	event   envelope.Event
	native  string // of a message
	text    string
	files   []messagev1.File
	claimed uint64   // cursor of the first turn that took it up; 0 for none
	answers []string // events that answer it
}

type edit struct {
	event   envelope.Event
	message string
	text    string
}

// item is something that was shown, or was to be.
type item struct {
	event  envelope.Event
	text   string
	parts  []*part
	whole  bool // the last part was sent
	failed string
	held   bool
}

type part struct {
	attempts []*attempt
	receipt  string   // "" until it was sent
	sure     *attempt // that was sent
	strays   int      // messages that attempts of which nobody knows have sent
	bare     bool     // one of them says nothing of a repeat
}

type attempt struct {
	number  int
	repeat  bool
	unknown bool
}

// unknown counts the attempts of which nobody knows.
func (p *part) unknown() int {
	n := 0
	for _, a := range p.attempts {
		if a.unknown {
			n++
		}
	}
	return n
}

func newLedger(id session.ID) *ledger {
	return &ledger{
		id: id, byID: map[string]*entry{}, byItem: map[string]*item{}, events: map[string]envelope.Event{}, drafts: map[string]bool{},
	}
}

func (l *ledger) fold(e envelope.Event) {
	switch b := e.Body.(type) {
	case messagev1.Received:
		l.enter(&entry{event: e, native: b.Native, text: b.Text, files: b.Files})
	case messagev1.Control:
		l.enter(&entry{event: e})
	case messagev1.Edited:
		l.edits = append(l.edits, edit{event: e, message: b.Message, text: b.Text})
	case turnv1.Started:
		l.claim(e, b.Messages)
	case turnv1.Continued:
		l.claim(e, b.Messages)
	case deliveryv1.Drafting:
		l.drafting++
	case deliveryv1.Drafted:
		if b.Receipt != "" {
			l.drafting--
			l.drafts[b.Receipt] = false
		}
	case deliveryv1.Event:
		l.deliver(b)
	default:
		l.shows(e)
	}
}

func (l *ledger) enter(x *entry) {
	l.entries = append(l.entries, x)
	l.byID[x.event.ID] = x
}

func (l *ledger) claim(e envelope.Event, messages []string) {
	for _, id := range messages {
		if x := l.byID[id]; x != nil && x.claimed == 0 {
			x.claimed = e.Cursor
		}
	}
}

// shows notes what may be delivered, and what it answers.
func (l *ledger) shows(e envelope.Event) {
	l.events[e.ID] = e
	for _, id := range answersOf(e.Body) {
		if x := l.byID[id]; x != nil && !slices.Contains(x.answers, e.ID) {
			x.answers = append(x.answers, e.ID)
		}
	}
}

func answersOf(b envelope.Body) []string {
	switch b := b.(type) {
	case turnv1.Completed:
		return b.Answers
	case turnv1.Failed:
		return b.Answers
	case turnv1.Cancelled:
		return append(slices.Clone(b.Answers), b.By)
	case noticev1.Posted:
		return b.Answers
	case turnv1.SessionConfigured:
		return []string{b.By}
	case turnv1.SessionReset:
		return []string{b.By}
	case turnv1.SessionCompacted:
		return []string{b.By}
	case turnv1.CompactionFailed:
		return []string{b.By}
	}
	return nil
}

func textOf(b envelope.Body) string {
	switch b := b.(type) {
	case turnv1.Completed:
		return b.Text
	case turnv1.Failed:
		return b.Text
	case turnv1.Cancelled:
		return b.Text
	case noticev1.Posted:
		return b.Text
	case turnv1.SessionConfigured:
		return b.Text
	case turnv1.SessionReset:
		return b.Text
	case turnv1.SessionCompacted:
		return b.Text
	case turnv1.CompactionFailed:
		return b.Text
	case messagev1.Refused:
		return b.Detail
	}
	return ""
}

// deliver folds an attempt. What does not fit together is for package judge to say.
func (l *ledger) deliver(b deliveryv1.Event) {
	switch b := b.(type) {
	case deliveryv1.Started:
		p := l.part(b.Ref)
		p.attempts = append(p.attempts, &attempt{number: b.Attempt, repeat: b.Repeat})
	case deliveryv1.Sent:
		p := l.part(b.Ref)
		p.receipt, p.sure = b.Receipt, p.attempt(b.Ref)
		l.byItem[b.Delivery].whole = !b.More
	case deliveryv1.Unknown:
		p := l.part(b.Ref)
		if a := p.attempt(b.Ref); a != nil {
			a.unknown = true
		}
		l.byItem[b.Delivery].held = !b.Resend
	case deliveryv1.Failed:
		l.part(b.Ref)
		l.byItem[b.Delivery].failed = b.Reason
	case deliveryv1.Deferred, deliveryv1.Drafting, deliveryv1.Drafted:
	}
}

func (l *ledger) part(r deliveryv1.Ref) *part {
	i := l.byItem[r.Delivery]
	if i == nil {
		e := l.events[r.Delivery]
		i = &item{event: e, text: textOf(e.Body)}
		l.byItem[r.Delivery] = i
		l.items = append(l.items, i)
	}
	for len(i.parts) <= r.Part {
		i.parts = append(i.parts, &part{})
	}
	return i.parts[r.Part]
}

func (p *part) attempt(r deliveryv1.Ref) *attempt {
	for _, a := range p.attempts {
		if a.number == r.Attempt {
			return a
		}
	}
	return nil
}

// done says that an item needs nothing more.
func (i *item) done() bool { return i.whole || i.failed != "" || i.held }
