package turn

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the meaning of State. It changes with State or Apply, so that snapshots of another one are dropped.
const Version = "1"

// Bounds of the fold. They are constants, not configuration: a fold must not depend on who folds.
const (
	// Kept is how many bytes of finished turns are kept for the model. What is older stays in the journal only.
	Kept = 256 << 10
	// maxResult is the most of one tool result that the model is shown.
	maxResult = 64 << 10
	// remembered is how many facts from outside are recognised when they come again. It is the second line: the first
	// is intake, which folds the same keys and appends by compare-and-set.
	remembered = 64
	// overhead is what the frame of one entry is counted for.
	overhead = 32
)

// State is the fold of one session. The zero value is a session that nobody has written to.
type State struct {
	Inbox []Item       `json:"inbox,omitempty"` // not yet answered, in arrival order; the running turn's messages included
	Turn  *Turn        `json:"turn,omitempty"`  // the one that runs; never written through
	Past  []Exchange   `json:"past,omitempty"`  // finished turns since the last reset, oldest first, about Kept bytes
	Usage turnv1.Usage `json:"usage"`           // of all model calls of the session
	Seen  []Fact       `json:"seen,omitempty"`  // the last facts from outside, oldest first, at most remembered
}

// Item is something from outside that waits for its place: a message, or a request to begin afresh.
type Item struct {
	ID   string `json:"id"`
	New  bool   `json:"new,omitempty"` // a control "new"; else a message
	Text string `json:"text,omitempty"`
}

// Fact identifies an event from outside: by its id, or by its source's own key.
type Fact struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty"`
}

// Turn is a running turn.
type Turn struct {
	ID       string        `json:"id"`
	Messages []string      `json:"messages"` // that it answers, all of them in the inbox
	Entries  []Entry       `json:"entries"`
	Claim    Claim         `json:"claim"` // the last one
	Open     bool          `json:"open"`  // the claim's model call has no outcome yet; else the turn waits for calls
	Spent    time.Duration `json:"spent"` // in model calls that had an outcome
	Stop     string        `json:"stop,omitempty"`
	Cause    string        `json:"cause"` // id of the event that led to what comes next
}

// Claim is a model call that somebody has announced.
type Claim struct {
	Cursor   uint64    `json:"cursor"`
	Round    int       `json:"round"`
	Attempt  int       `json:"attempt"`
	Worker   string    `json:"worker"`
	At       time.Time `json:"at"`
	Deadline time.Time `json:"deadline"`
}

// Exchange is a finished turn as the model is shown it later.
type Exchange struct {
	Turn    string  `json:"turn"`
	Entries []Entry `json:"entries"`
	Bytes   int     `json:"bytes"`
}

// Role says who speaks.
type Role string

// The roles of messages that a model is shown. Entries are by User and Assistant only: results are part of their calls.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Entry is what one side said. Calls are the assistant's, with their results.
type Entry struct {
	Role  Role   `json:"role"`
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"`
}

// Call is a tool call and, once Done, its result as the model is shown it.
type Call struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // JSON, as text: a snapshot must not reformat it
	Done      bool   `json:"done"`
	Result    string `json:"result,omitempty"`
}

// OpenCalls are the ids of the calls that the running turn waits for.
func (s State) OpenCalls() []string {
	if s.Turn == nil || s.Turn.Open {
		return nil
	}
	var ids []string
	for _, c := range s.Turn.calls() {
		if !c.Done {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// calls are those of the last thing said. Only they can be open.
func (t *Turn) calls() []Call {
	if len(t.Entries) == 0 {
		return nil
	}
	return t.Entries[len(t.Entries)-1].Calls
}

// with is a changed copy of t.
func (t *Turn) with(change func(*Turn)) *Turn {
	c := *t
	change(&c)
	return &c
}

// appended is list with more at its end, in memory of its own.
func appended[T any](list []T, more ...T) []T { return slices.Concat(list, more) }

func size(entries []Entry) int {
	n := 0
	for _, e := range entries {
		n += overhead + len(e.Text)
		for _, c := range e.Calls {
			n += 2*overhead + len(c.ID) + len(c.Tool) + len(c.Arguments) + len(c.Result)
		}
	}
	return n
}
