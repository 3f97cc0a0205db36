package turn

import (
	"errors"
	"fmt"
	"time"
)

// Rules are what a session's agent and channel have configured, as far as the machine has to know.
type Rules struct {
	Limits    Limits   `json:"limits"`
	Queue     Queue    `json:"queue"`
	Budget    Budget   `json:"budget"`
	Compact   Compact  `json:"compact"`
	Model     string   `json:"model"`     // reference of the agent's model: "provider/model"
	Models    []string `json:"models"`    // references that /model lists
	Providers []string `json:"providers"` // what a reference may begin with
	// Client says that a program outside is the agent: Model relays its calls, each message is a turn of its own, and no session may
	// choose otherwise, whatever it has chosen before.
	Client bool `json:"client,omitempty"`
}

// DefaultRules are those of an agent that nobody has configured.
func DefaultRules() Rules {
	return Rules{Limits: DefaultLimits(), Queue: DefaultQueue(), Budget: DefaultBudget(), Compact: CompactFor(32_000)}
}

// Validate says what is wrong with r.
func (r Rules) Validate() error {
	var p problems
	p.check(!r.Client || r.Queue.Mode == Followup, "queue mode: %q, the calls of a client are made one by one", r.Queue.Mode)
	p.check(!r.Client || r.Limits.Rounds > 1, "rounds: %d, a client's call needs one, and its answer another", r.Limits.Rounds)
	return errors.Join(append(p, r.Limits.Validate(), r.Queue.Validate(), r.Compact.Validate())...)
}

// Limits bound a turn. Start with DefaultLimits.
type Limits struct {
	// Attempts is how often one model call may be claimed: after as many lost workers the turn fails.
	Attempts int `json:"attempts"`
	// Rounds is how many model calls one turn may make.
	Rounds int `json:"rounds"`
	// CallTime bounds one model call.
	CallTime time.Duration `json:"call_time"`
	// TurnTime bounds all model calls of a turn together. Waiting for tools and approvals does not count, nor does a
	// call that was lost with its worker: Attempts bounds those.
	TurnTime time.Duration `json:"turn_time"`
	// Grace is how much later than its limit a call may be taken over, so that the runner's own report comes first.
	Grace time.Duration `json:"grace"`
}

// DefaultLimits are the limits of an agent that nobody has configured.
func DefaultLimits() Limits {
	return Limits{Attempts: 6, Rounds: 32, CallTime: 2 * time.Minute, TurnTime: 10 * time.Minute, Grace: 5 * time.Second}
}

// problems collects what is wrong.
type problems []error

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// Validate says what is wrong with l.
func (l Limits) Validate() error {
	var p problems
	p.check(l.Attempts >= 1, "attempts: %d, at least 1 is needed to call a model at all", l.Attempts)
	p.check(l.Rounds >= 1, "rounds: %d, at least 1 is needed to call a model at all", l.Rounds)
	p.check(l.CallTime > 0, "call time: %s, every model call would time out", l.CallTime)
	p.check(l.TurnTime >= l.CallTime, "turn time: %s is less than the call time %s", l.TurnTime, l.CallTime)
	p.check(l.Grace > 0, "grace: %s, a call at its limit would be taken over before it is reported", l.Grace)
	return errors.Join(p...)
}

// Mode is a queue mode: what a message does that comes while a turn runs.
type Mode string

// The queue modes.
const (
	Followup  Mode = "followup"  // it waits for a turn of its own
	Collect   Mode = "collect"   // what waits is answered together, once nothing has come for a while
	Steer     Mode = "steer"     // the running turn is shown it with its next model call
	Interrupt Mode = "interrupt" // the running turn is cancelled, and what waits is answered together
)

// Modes are all of them.
func Modes() []Mode { return []Mode{Followup, Collect, Steer, Interrupt} }

// Full says which messages are dropped when too many wait.
type Full string

// The policies of a full queue.
const (
	DropNewest Full = "newest"
	DropOldest Full = "oldest"
)

// Queue is what happens to messages that come while a turn runs.
type Queue struct {
	Mode     Mode          `json:"mode"`
	Cap      int           `json:"cap"`      // messages that may wait; 0: any number
	Full     Full          `json:"full"`     // what is dropped beyond
	Debounce time.Duration `json:"debounce"` // Collect: how long nothing must have come; ten times as long at most
}

// DefaultQueue is the queue of an agent that nobody has configured.
func DefaultQueue() Queue {
	return Queue{Mode: Followup, Cap: 20, Full: DropNewest, Debounce: 2 * time.Second}
}

// longestDebounce keeps a wait below what a doorbell may be put off for.
const longestDebounce = 5 * time.Second

// Validate says what is wrong with q.
func (q Queue) Validate() error {
	var p problems
	p.check(q.Mode.valid(), "queue mode: there is no %q", q.Mode)
	p.check(q.Cap >= 0, "queue cap: %d is negative", q.Cap)
	p.check(q.Full == DropNewest || q.Full == DropOldest, "full queue: there is no policy %q", q.Full)
	p.check(q.Debounce >= 0 && q.Debounce <= longestDebounce, "debounce: %s, must be between 0 and %s", q.Debounce, longestDebounce)
	return errors.Join(p...)
}

func (m Mode) valid() bool {
	switch m {
	case Followup, Collect, Steer, Interrupt:
		return true
	}
	return false
}

// Budget is what one turn may use. 0 sets no limit.
type Budget struct {
	Calls  int   `json:"calls"`  // tool calls
	Tokens int   `json:"tokens"` // of requests and answers
	Cost   int64 `json:"cost"`   // billionths of a US dollar
}

// DefaultBudget is the budget of an agent that nobody has configured.
func DefaultBudget() Budget { return Budget{Calls: 100} }

// Compact says when finished turns are summarised.
type Compact struct {
	Due  int `json:"due"`  // bytes of finished turns above which they are; 0: never by itself
	Keep int `json:"keep"` // bytes of the newest of them that are left as they are
}

// CompactFor is what suits a window, in tokens: a summary is due when finished turns fill half of it.
func CompactFor(window int) Compact {
	due := min(window*bytesPerToken/2, Kept/2)
	return Compact{Due: due, Keep: due / 4}
}

// bytesPerToken is a rule of thumb.
const bytesPerToken = 4

// Validate says what is wrong with c.
func (c Compact) Validate() error {
	var p problems
	p.check(c.Due >= 0 && c.Due <= Kept/2, "compaction: due at %d bytes, must be between 0 and %d", c.Due, Kept/2)
	p.check(c.Keep >= 0 && c.Keep <= c.Due, "compaction: %d bytes are kept of %d", c.Keep, c.Due)
	return errors.Join(p...)
}
