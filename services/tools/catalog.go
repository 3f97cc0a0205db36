package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// catalogs reads what executors offer.
type catalogs interface {
	Catalog(ctx context.Context) (map[string][]byte, error)
	// CatalogRevision is another number after each change.
	CatalogRevision(ctx context.Context) (uint64, error)
}

const (
	catalogAge  = time.Second     // how long a reading is good
	catalogTime = 2 * time.Second // what a reading may take
)

// shelf keeps the catalogue for a moment: it changes when an executor starts.
type shelf struct {
	from catalogs
	log  *slog.Logger

	mu  sync.Mutex
	all []toolv1.Catalogue // guarded by mu; never written through
	at  time.Time          // guarded by mu; of the last look
	rev uint64             // guarded by mu; the revision of all
	ok  bool               // guarded by mu: there was one
	bad time.Time          // guarded by mu; of the last one that failed: not all that ask meanwhile are to wait for the next
}

// get is what all executors offer, at most catalogAge old; ok is false while it was never read. With a bus that is away
// the last reading stands.
func (s *shelf) get(fresh bool) (_ []toolv1.Catalogue, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ok && !fresh && time.Since(s.at) < catalogAge {
		return s.all, true
	}
	if time.Since(s.bad) < catalogAge {
		return s.all, s.ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), catalogTime)
	defer cancel()
	rev, err := s.from.CatalogRevision(ctx)
	if err == nil && s.ok && rev == s.rev {
		s.at = time.Now()
		return s.all, true
	}
	var raw map[string][]byte
	if err == nil {
		raw, err = s.from.Catalog(ctx)
	}
	if err != nil {
		s.log.Warn("the catalogue of tools cannot be read now", "error", err)
		s.bad = time.Now()
		return s.all, s.ok
	}
	s.all = nil
	for _, executor := range slices.Sorted(maps.Keys(raw)) {
		var c toolv1.Catalogue
		if err := json.Unmarshal(raw[executor], &c); err != nil || c.Executor != executor {
			s.log.Warn("not a catalogue", "executor", executor, "error", err)
			continue
		}
		s.all = append(s.all, c)
	}
	s.at, s.ok, s.rev = time.Now(), true, rev
	return s.all, true
}
