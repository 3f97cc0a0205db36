package router

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

const (
	fresh     = 5 * time.Second        // how long a hold is believed before the store is asked again
	storeTime = 100 * time.Millisecond // for all of the store's work at one point of a call
)

// Store keeps small values over restarts. Keys have letters, digits and any of _ = - . /
type Store interface {
	Value(ctx context.Context, key string) ([]byte, bool, error)
	SetValue(ctx context.Context, key string, value []byte) error
}

// memory has the holds: what this process found out, and what the store says, whichever is later.
type memory struct {
	store Store
	log   *slog.Logger

	mu    sync.Mutex
	known map[string]known // by key
}

type known struct {
	hold hold
	read time.Time // when the store was last asked
}

// get reads holds, each from the store at most once in fresh. While one call waits for the store, others take what is
// known so far.
func (m *memory) get(ctx context.Context, keys []string, now time.Time) []hold {
	var stale []string
	m.mu.Lock()
	for _, key := range keys {
		if k, ok := m.known[key]; !ok || now.Sub(k.read) >= fresh {
			stale = append(stale, key)
			m.known[key] = known{hold: k.hold, read: now}
		}
	}
	m.mu.Unlock()
	if len(stale) > 0 {
		m.read(ctx, stale)
	}
	holds := make([]hold, len(keys))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, key := range keys {
		holds[i] = m.known[key].hold
	}
	return holds
}

func (m *memory) read(ctx context.Context, keys []string) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for _, key := range keys {
		value, ok, err := m.store.Value(ctx, key)
		if err != nil {
			m.log.Warn("holds of models cannot be read", "key", key, "error", err)
			return // the others would fail too, and take their time
		}
		if !ok {
			continue
		}
		var h hold
		if err := json.Unmarshal(value, &h); err != nil {
			m.log.Warn("the hold of a model cannot be read", "key", key, "error", err)
			continue
		}
		m.mu.Lock()
		if k := m.known[key]; h.At.After(k.hold.At) {
			m.known[key] = known{hold: h, read: k.read}
		}
		m.mu.Unlock()
	}
}

// change writes what a call has found out. change is given the newest hold; false leaves it.
func (m *memory) change(ctx context.Context, key string, change func(hold) (hold, bool)) {
	m.mu.Lock()
	k := m.known[key]
	h, ok := change(k.hold)
	if ok {
		m.known[key] = known{hold: h, read: k.read}
	}
	m.mu.Unlock()
	if !ok {
		return
	}
	value, err := json.Marshal(h)
	if err == nil {
		// The end of the call is no reason to forget what it found out.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
		defer cancel()
		err = m.store.SetValue(ctx, key, value)
	}
	if err != nil {
		m.log.Warn("the hold of a model is kept in memory only", "key", key, "error", err)
	}
}

// Identified is a model that tells one key from another without showing it. Another identity begins without holds.
type Identified interface{ Identity() string }

// keysOf are the keys of a model's hold and of its provider's.
func keysOf(ref string, m model.Model) (ofModel, ofProvider string) {
	identity := m.Endpoint()
	if i, ok := m.(Identified); ok {
		identity = i.Identity()
	}
	sum := sha256.Sum256([]byte(m.Endpoint() + "\x00" + identity))
	provider, name, _ := strings.Cut(ref, "/")
	prefix := "hold/" + session.Escape(provider) + "/" + hex.EncodeToString(sum[:8])
	return prefix + "/" + session.Escape(name), prefix
}
