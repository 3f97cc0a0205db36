package turn

import (
	"math"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Version names the meaning of State. It changes with State or Apply, so that snapshots of another one are dropped.
const Version = "7"

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
	Inbox      []Item      `json:"inbox,omitempty"`      // not yet answered, in arrival order; the running turn's messages included
	Turn       *Turn       `json:"turn,omitempty"`       // the one that runs; never written through
	Told       []Told      `json:"told,omitempty"`       // what programs outside have said, oldest first, at most maxTold; no model was shown it yet
	Stop       *Stop       `json:"stop,omitempty"`       // asked for and not carried out yet; never written through
	Orders     []Order     `json:"orders,omitempty"`     // commands that are answered at once, oldest first
	Past       []Exchange  `json:"past,omitempty"`       // finished turns since the last compaction, oldest first, about Kept bytes
	Bytes      int         `json:"bytes,omitempty"`      // of Past
	Summary    *Summary    `json:"summary,omitempty"`    // of what was before Past; never written through
	Compaction *Compaction `json:"compaction,omitempty"` // the one that runs; never written through
	Ended      string      `json:"ended,omitempty"`      // id of the event that ended the last turn
	Retry      int         `json:"retry,omitempty"`      // after a compaction that failed: the Bytes at which it is due again
	Room       int         `json:"room,omitempty"`       // tokens that a request may have, as refusals have taught; 0: not known
	Settings   Settings    `json:"settings,omitzero"`    // chosen for this session
	Usage      Total       `json:"usage"`                // of all model calls of the session
	Seen       []Fact      `json:"seen,omitempty"`       // the last facts from outside, oldest first, at most remembered
}

// Item is something from outside that waits for its place: a message, or a command that is carried out in its order.
type Item struct {
	ID   string         `json:"id"`
	Verb messagev1.Verb `json:"verb,omitempty"` // New or Compact; "" for a message
	Keep bool           `json:"keep,omitempty"` // New: with a summary of what was before
	Text string         `json:"text,omitempty"` // of a message; may be empty beside files
	At   time.Time      `json:"at,omitzero"`
	// Beside is what a message has beside its text; nil for nothing. Never written through.
	Beside *Beside `json:"beside,omitempty"`
	// Ends is the turn that it ends when its calls are still open in EndsRound: New, when nothing but people was waited for.
	Ends      string `json:"ends,omitempty"`
	EndsRound int    `json:"ends_round,omitempty"`
}

// message says whether it is one.
func (i Item) message() bool { return i.Verb == "" }

// Order is a command that is answered at once, whatever runs.
type Order struct {
	ID       string         `json:"id"`
	Verb     messagev1.Verb `json:"verb"`
	Argument string         `json:"argument,omitempty"`
}

// Stop is a request to stop: what it binds to is what was there at its own cursor.
type Stop struct {
	ID       string   `json:"id"`
	Turn     string   `json:"turn,omitempty"`     // that ran
	Messages []string `json:"messages,omitempty"` // that waited, the turn's own included
	// Compaction is the id of the one that ran.
	Compaction string `json:"compaction,omitempty"`
	Withdrew   bool   `json:"withdrew,omitempty"` // it was ended for this stop
}

// Summary stands for turns that are no longer shown.
type Summary struct {
	Through string `json:"through"` // the last of them
	Turns   int    `json:"turns"`
	Text    string `json:"text"`
}

// Compaction is a model call that summarises finished turns.
type Compaction struct {
	ID      string `json:"id"`
	Through string `json:"through"` // the last turn that it replaces
	By      string `json:"by,omitempty"`
	Cause   string `json:"cause"` // id of the event that claimed it
	Claim   Claim  `json:"claim"`
}

// Settings are what a person has chosen for the session; "" leaves it to the agent.
type Settings struct {
	Model string `json:"model,omitempty"`
	Queue Mode   `json:"queue,omitempty"`
}

// Total is what model calls have used.
type Total struct {
	Calls    int   `json:"calls,omitempty"`
	Input    int   `json:"input,omitempty"`
	Output   int   `json:"output,omitempty"`
	Cost     int64 `json:"cost,omitempty"`     // billionths of a US dollar, of the calls whose price was known
	Unpriced int   `json:"unpriced,omitempty"` // tokens of the others
	Silent   int   `json:"silent,omitempty"`   // answers of which nobody knows how many tokens they took
}

// Plus adds one model call; answered says that there was an answer.
func (t Total) Plus(u turnv1.Usage, answered bool) Total {
	t.Calls++
	t.Input += max(0, u.Input)
	t.Output += max(0, u.Output)
	switch tokens := max(0, u.Input) + max(0, u.Output); {
	case u.Priced:
		t.Cost += min(max(0, u.Cost), math.MaxInt64-t.Cost)
	case tokens > 0:
		t.Unpriced += tokens
	case answered:
		t.Silent++
	}
	return t
}

// Tokens is all of them.
func (t Total) Tokens() int { return t.Input + t.Output }

// Fact identifies an event from outside: by its id, or by its source's own key.
type Fact struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty"`
}

// Turn is a running turn.
type Turn struct {
	ID        string        `json:"id"`
	Messages  []string      `json:"messages"` // that it answers, all of them in the inbox
	Entries   []Entry       `json:"entries"`
	Claim     Claim         `json:"claim"` // the last one
	Open      bool          `json:"open"`  // the claim's model call has no outcome yet; else the turn waits for calls
	Spent     time.Duration `json:"spent"` // in model calls that had an outcome
	Usage     Total         `json:"usage"`
	Calls     int           `json:"calls,omitempty"`    // tool calls so far
	Model     string        `json:"model,omitempty"`    // that answered last in this turn
	Overflows int           `json:"overflow,omitempty"` // how often the request was too long for the model
	Squeezed  bool          `json:"squeezed,omitempty"` // the past was compacted for it, or could not be
	Cause     string        `json:"cause"`              // id of the event that led to what comes next
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
	// Beside is what a person's message has beside its text; nil for nothing. Never written through.
	Beside *Beside `json:"beside,omitempty"`
}

// Call is a tool call and, once Done, its result as the model is shown it.
type Call struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // JSON, as text: a snapshot must not reformat it
	Done      bool   `json:"done"`
	Result    string `json:"result,omitempty"`
	Own       bool   `json:"own,omitempty"`    // the result is jetclaw's own words; else it is foreign text
	Failed    bool   `json:"failed,omitempty"` // it did not do what it was to do
	Note      string `json:"note,omitempty"`   // jetclaw's own words behind the result, outside of the fence of foreign text
	Cursor    uint64 `json:"cursor,omitempty"` // of the event that has all of the result; 0 where none has
	Lead      int    `json:"lead,omitempty"`   // bytes of Result before the text of that event begins
	Waits     string `json:"waits,omitempty"`  // until Done: the person's decision that it waits for
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

// OpenClaim is the cursor of the event that claims the model call under way; 0 when there is none.
func (s State) OpenClaim() uint64 {
	switch {
	case s.Compaction != nil:
		return s.Compaction.Claim.Cursor
	case s.Turn != nil && s.Turn.Open:
		return s.Turn.Claim.Cursor
	}
	return 0
}

// Quiet says that nothing runs and nothing waits.
func (s State) Quiet() bool {
	return s.Turn == nil && s.Compaction == nil && s.Stop == nil && len(s.Inbox)+len(s.Orders) == 0
}

// waiting are the messages of the inbox that the running turn does not answer, up to the first command.
func (s State) waiting() []Item {
	var out []Item
	for _, it := range s.Inbox {
		switch {
		case s.Turn != nil && slices.Contains(s.Turn.Messages, it.ID):
		case !it.message():
			return out
		default:
			out = append(out, it)
		}
	}
	return out
}

func ids(items []Item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.ID
	}
	return out
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
		n += overhead + len(e.Text) + e.Beside.size()
		for _, c := range e.Calls {
			n += 2*overhead + len(c.ID) + len(c.Tool) + len(c.Arguments) + len(c.Result) + len(c.Note)
		}
	}
	return n
}
