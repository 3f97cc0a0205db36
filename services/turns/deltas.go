package turns

import (
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Delta is a piece of an answer on live.<session>, while the model speaks. N counts from 1 within one attempt, so that a
// watcher sees a loss. Another attempt begins the text again; the whole answer is in the journal.
type Delta struct {
	Type    string `json:"type"` // DeltaType
	Turn    string `json:"turn"`
	Round   int    `json:"round"`
	Attempt int    `json:"attempt"`
	N       int    `json:"n"`
	Text    string `json:"text"`
}

// DeltaType is the type of a Delta among the messages of live.<session>.
const DeltaType = "delta"

// gather is how long pieces are collected before they are sent: 30 messages a second look as smooth as 300.
const gather = 30 * time.Millisecond

// Live sends to whoever watches a session now.
type Live interface {
	PublishLive(s session.ID, v any) error
}

// deltas sends the text of one model call piece by piece: in order, lossy, never blocking the model for long.
type deltas struct {
	live    Live
	session session.ID

	mu      sync.Mutex
	next    Delta           // guarded by mu
	pending strings.Builder // guarded by mu
	timer   *time.Timer     // guarded by mu; nil when nothing is pending
}

func newDeltas(live Live, s session.ID, t *turn.Turn) *deltas {
	return &deltas{live: live, session: s, next: Delta{Type: DeltaType, Turn: t.ID, Round: t.Claim.Round, Attempt: t.Claim.Attempt}}
}

func (d *deltas) add(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.WriteString(text)
	if d.timer == nil {
		d.timer = time.AfterFunc(gather, d.flush)
	}
}

// flush sends what is pending. After the last add it ends the timer, too.
func (d *deltas) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer == nil {
		return
	}
	d.timer.Stop()
	d.timer = nil
	d.next.N++
	d.next.Text = d.pending.String()
	d.pending.Reset()
	_ = d.live.PublishLive(d.session, d.next) // lossy: the answer itself goes to the journal
}
