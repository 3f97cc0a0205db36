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

	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
)

const (
	fresh     = 5 * time.Second        // how long a hold is believed before the store is asked again
	storeTime = 100 * time.Millisecond // for all of the store's work at one point of a call
)

// Store keeps small values over restarts; see bus.Conn.
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

// place is where a hold is kept, and of what it is one: the key tells nobody.
type place struct{ key, of string }

// get reads holds, each from the store at most once in fresh. While one call waits for the store, others take what is
// known so far.
func (m *memory) get(ctx context.Context, places []place, now time.Time) []hold {
	var stale []place
	m.mu.Lock()
	for _, p := range places {
		if k, ok := m.known[p.key]; !ok || now.Sub(k.read) >= fresh {
			stale = append(stale, p)
			m.known[p.key] = known{hold: k.hold, read: now}
		}
	}
	m.mu.Unlock()
	if len(stale) > 0 {
		m.read(ctx, stale)
	}
	holds := make([]hold, len(places))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range places {
		holds[i] = m.known[p.key].hold
	}
	return holds
}

func (m *memory) read(ctx context.Context, places []place) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for _, p := range places {
		value, ok, err := m.store.Value(ctx, p.key)
		if err != nil {
			m.log.Warn("holds of models cannot be read", "of", p.of, "error", err)
			return // the others would fail too, and take their time
		}
		if !ok {
			continue
		}
		var h hold
		if err := json.Unmarshal(value, &h); err != nil {
			m.log.Warn("the hold of a model cannot be read", "of", p.of, "error", err)
			continue
		}
		h, ok = h.believed(time.Now())
		m.mu.Lock()
		if k := m.known[p.key]; ok && h.At.After(k.hold.At) {
			m.known[p.key] = known{hold: h, read: k.read}
		}
		m.mu.Unlock()
	}
}

// change writes what a call has found out. what is given the newest hold; false leaves it.
func (m *memory) change(ctx context.Context, p place, what func(hold) (hold, bool)) {
	m.mu.Lock()
	k := m.known[p.key]
	h, ok := what(k.hold)
	if ok {
		m.known[p.key] = known{hold: h, read: k.read}
	}
	m.mu.Unlock()
	if !ok {
		return
	}
	if h.on(h.At) {
		m.log.Warn("put on hold", "of", p.of, "until", h.Until, "reason", h.Reason)
	}
	value, err := json.Marshal(h)
	if err == nil {
		// The end of the call is no reason to forget what it found out.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
		defer cancel()
		err = m.store.SetValue(ctx, p.key, value)
	}
	if err != nil {
		m.log.Warn("the hold of a model is kept in memory only", "of", p.of, "error", err)
	}
}

// Identified is a model that tells one key from another without showing it. Another identity begins without holds.
type Identified interface{ Identity() string }

// placesOf are those of a model's hold and of its provider's. Names and addresses may be long and odd, keys may not.
func placesOf(ref string, m provider.Model) [2]place {
	identity := m.Endpoint()
	if i, ok := m.(Identified); ok {
		identity = i.Identity()
	}
	provider, _, _ := strings.Cut(ref, "/")
	digest := func(name string) string {
		sum := sha256.Sum256([]byte(name + "\x00" + m.Endpoint() + "\x00" + identity))
		return hex.EncodeToString(sum[:16])
	}
	return [2]place{{"hold.model." + digest(ref), ref}, {"hold.provider." + digest(provider), provider}}
}
