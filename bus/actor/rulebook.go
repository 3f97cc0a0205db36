package actor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
)

// Rulebook keeps what a machine is configured with, by digest, among the values of its service: whoever decides an old event
// again (bus/recheck) has to know by which rules it was decided. Safe for concurrent use. A nil Rulebook records nothing.
type Rulebook struct {
	conn rulesStore
	log  *slog.Logger

	mu    sync.Mutex
	known map[string]string // guarded by mu; digests, by what the caller calls the rules
}

type rulesStore interface {
	SetValue(ctx context.Context, key string, value []byte) error
}

// NewRulebook makes a rulebook on the connection of a service whose Spec has Values.
func NewRulebook(c *bus.Conn) *Rulebook {
	if c == nil { // a machine without a bus: under test
		return nil
	}
	return &Rulebook{conn: c, log: c.Log(), known: map[string]string{}}
}

// recordTime bounds how long a decision waits for its rules to be recorded.
const recordTime = time.Second

// Digest names rules, and records them when they are new in this process. name identifies them cheaply for the caller: the
// same name means the same rules. Rules that cannot be recorded hold up nobody: their events can then not be decided again
// exactly, and are tried with today's.
func (b *Rulebook) Digest(name string, rules func() any) string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d, ok := b.known[name]; ok {
		return d
	}
	data, err := json.Marshal(rules())
	if err != nil {
		b.log.Error("rules are not recorded", "rules", name, "error", err)
		b.known[name] = ""
		return ""
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:8])
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	if err := b.conn.SetValue(ctx, bus.RulesKey(digest), data); err != nil {
		b.log.Warn("rules are not recorded; the next start tries again", "rules", name, "error", err) // no decision waits for it twice
	}
	b.known[name] = digest
	return digest
}
