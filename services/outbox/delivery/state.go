package delivery

import (
	"slices"
	"time"
)

// State is what one session still has to show. Its zero value is a session with nothing to show. Values share nothing
// that is ever written: an old State stays as it was.
type State struct {
	Channel string `json:"channel,omitempty"` // of the session; set with the first item
	Queue   []Item `json:"queue,omitempty"`   // in journal order; only the first may be beyond Pending
	// Speaks is the turn whose model speaks, or may; "" between turns.
	Speaks string `json:"speaks,omitempty"`
	// Drafts are messages that show what a model says while it speaks, oldest first. One becomes the item that the model call
	// ends with (Item.Draft), and is then no longer here.
	Drafts []Draft `json:"drafts,omitempty"`
	// Prompts are the questions that a push channel shows, and that nobody has settled there, oldest first.
	Prompts []Prompt `json:"prompts,omitempty"`
	// Natives are the channel's ids of the last messages, oldest first; kept where several people write.
	Natives []Native `json:"natives,omitempty"`
	// Done are the last items that left the queue, oldest first, at most doneRing: a second event with the id or key
	// of one of them shows nothing.
	Done []Name `json:"done,omitempty"`
	// Sends are the last things that were sent with a key (svc.outbox.send), oldest first, at most maxSends.
	Sends []Send `json:"sends,omitempty"`
	// Deleted says that nothing but a new message may follow.
	Deleted bool `json:"deleted,omitempty"`
}

// doneRing is how many finished items are remembered. A duplicate comes soon after the first (a retry whose
// acknowledgement was lost); the server's own window catches the rest.
const doneRing = 32

// The bounds of what is kept beside the queue. What is forgotten costs a nicety: an answer without a quote, a prompt that keeps
// its buttons, a draft that stays as it was.
const (
	maxDrafts  = 8
	maxPrompts = 64
	maxNatives = 32
)

// maxSends is how long a key is recognised: until so many others were used in its session.
const maxSends = 256

// Send is something that was sent with a key.
type Send struct {
	ID     string `json:"id"` // of its event, made of the key
	Cursor uint64 `json:"cursor"`
}

// Draft is a message that is edited while a model speaks.
type Draft struct {
	Turn     string    `json:"turn"`
	Round    int       `json:"round"`
	Worker   string    `json:"worker"`            // who edits it
	Deadline time.Time `json:"deadline,omitzero"` // until then it is not known whether it was posted; zero once it is
	Receipt  string    `json:"receipt,omitempty"` // the channel's id of it
}

// Prompt is a question that was shown.
type Prompt struct {
	Approval string `json:"approval"`
	Cursor   uint64 `json:"cursor"` // of the event that has its text
	Receipt  string `json:"receipt"`
}

// Native is the channel's id of a message.
type Native struct {
	ID     string `json:"id"`
	Native string `json:"native"`
}

// Name is what an item can be recognised by.
type Name struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty"` // the source's own key, when it has one
}

// Item is one thing to show.
type Item struct {
	Name
	Kind    string   `json:"kind"` // of the event that carries it: "turn.completed"
	Text    string   `json:"text"`
	Answers []string `json:"answers,omitempty"` // ids of the messages, commands and decisions that it answers
	// Approval is the id of the approval that it is about; "" for all else.
	Approval string    `json:"approval,omitempty"`
	Ways     string    `json:"ways,omitempty"`   // the end of Text that a channel with buttons leaves out
	Always   bool      `json:"always,omitempty"` // that may be given for always
	Cursor   uint64    `json:"cursor,omitempty"` // of the event that carries it; kept with Approval
	At       time.Time `json:"at,omitzero"`      // of the event; kept with Draft
	Draft    *Draft    `json:"draft,omitempty"`  // the message that becomes its first part; never written through
	Reply    string    `json:"reply,omitempty"`  // the channel's id of the message that it answers

	Part    int       `json:"part,omitempty"`    // the one that is to be sent, from 0; those before it are sent
	Untried int       `json:"untried,omitempty"` // attempts of the part for which the channel had no room
	Phase   Phase     `json:"phase"`
	Since   time.Time `json:"since,omitzero"`    // when the phase began; not kept for Pending
	Attempt int       `json:"attempt,omitempty"` // the open one, else the last one; 0 before the first
	Repeat  bool      `json:"repeat,omitempty"`  // an attempt may have arrived
	Begun   time.Time `json:"begun,omitzero"`    // start of the first attempt
	Last    string    `json:"last"`              // id of the last event about this item: the cause of the next

	Claim    uint64    `json:"claim,omitempty"`   // Started: cursor of the event that claims the attempt
	Worker   string    `json:"worker,omitempty"`  // Started: its owner
	Deadline time.Time `json:"deadline,omitzero"` // Started: after it anybody may take over

	Due    time.Time `json:"due,omitzero"`     // Deferred: when the next attempt may begin
	Reason string    `json:"reason,omitempty"` // Deferred: why
}

// Phase is where an item of the queue stands. What is sent, failed or held is not in the queue any more.
type Phase string

const (
	Pending  Phase = "pending"  // not tried yet
	Started  Phase = "started"  // an attempt is claimed
	Deferred Phase = "deferred" // the last attempt did not arrive
	Unknown  Phase = "unknown"  // the last attempt may have arrived, and is to be repeated
)

// Head is the one item that may move; false when there is nothing to show.
func (s State) Head() (Item, bool) {
	if len(s.Queue) == 0 {
		return Item{}, false
	}
	return s.Queue[0], true
}

// Prompt is the question about an approval that a channel shows; false when there is none.
func (s State) Prompt(approval string) (Prompt, bool) {
	i := slices.IndexFunc(s.Prompts, func(p Prompt) bool { return p.Approval == approval })
	if approval == "" || i < 0 {
		return Prompt{}, false
	}
	return s.Prompts[i], true
}

// Posted is the cursor of what was sent with a key, by the id of its event; false when it was not, or is forgotten.
func (s State) Posted(id string) (cursor uint64, ok bool) {
	i := slices.IndexFunc(s.Sends, func(p Send) bool { return p.ID == id })
	if i < 0 {
		return 0, false
	}
	return s.Sends[i].Cursor, true
}

func (s State) knows(n Name) bool {
	same := func(o Name) bool { return o.ID == n.ID || n.Key != "" && o.Key == n.Key }
	return slices.ContainsFunc(s.Done, same) ||
		slices.ContainsFunc(s.Queue, func(i Item) bool { return same(i.Name) })
}

func (s State) replaceHead(i Item) State {
	s.Queue = slices.Clone(s.Queue)
	s.Queue[0] = i
	return s
}

func (s State) dropHead() State {
	kept := s.Done
	if len(kept) >= doneRing {
		kept = kept[len(kept)-doneRing+1:]
	}
	s.Done = append(slices.Clip(kept), s.Queue[0].Name)
	if len(s.Queue) == 1 {
		s.Queue = nil
	} else {
		s.Queue = slices.Clone(s.Queue[1:]) // a clone lets go of the text that was shown
	}
	return s
}
