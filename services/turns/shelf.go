package turns

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
)

// Catalogue is what executors publish about their tools: JSON of toolv1.Catalogue by the names of executors.
type Catalogue interface {
	Catalog(ctx context.Context) (map[string][]byte, error)
	// CatalogRevision is another number after each change.
	CatalogRevision(ctx context.Context) (uint64, error)
}

const (
	shelfTime = time.Second     // that tools are taken to be as they were
	readTime  = 2 * time.Second // for one look at the catalogue
)

// shelf has the tools of the catalogue as they were last read, and what was made of them for models. While the catalogue
// cannot be read the last one holds: a call is decided by the gate anyway.
type shelf struct {
	from Catalogue
	log  *slog.Logger

	look chan struct{} // holds one thing while somebody reads the catalogue

	mu      sync.Mutex
	fresh   time.Time          // guarded by mu; until when it need not be read again
	looking bool               // guarded by mu; somebody reads it
	known   bool               // guarded by mu; it was read once
	at      uint64             // guarded by mu; the revision of read
	failed  bool               // guarded by mu; the last look; told once
	read    map[string][]byte  // guarded by mu
	tools   []toolv1.Tool      // guarded by mu; of read, in the order of the executors' names
	made    map[wish]portables // guarded by mu; of tools
}

// wish is what portable tools depend on beside the catalogue.
type wish struct {
	agent   *agent
	dialect offer.Dialect
	skills  bool
}

// portables are tools as one kind of model takes them. They are shared: nobody writes to them.
type portables struct {
	tools []model.Tool
	names offer.Names
}

func newShelf(from Catalogue, log *slog.Logger) *shelf {
	return &shelf{from: from, log: log, look: make(chan struct{}, 1)}
}

// refresh reads the catalogue when it was not read for a while, or, with now, when it has changed: calls may have changed what their
// server offers. Who comes while somebody reads takes what there is, if anything was read before.
func (s *shelf) refresh(ctx context.Context, now bool) {
	if now {
		s.set(func() { s.fresh = time.Time{} })
	}
	if !s.due() {
		return
	}
	select {
	case s.look <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.look }()
	if !s.due() { // somebody has just read it
		return
	}
	s.set(func() { s.looking = true })
	look, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	read, at, err := s.news(look)
	s.set(func() {
		s.looking, s.fresh = false, time.Now().Add(shelfTime)
		switch {
		case err == nil:
			if s.failed, s.known, s.at = false, true, at; read != nil {
				s.stock(read)
			}
			if len(s.tools) == 0 { // an executor that starts is noticed at once: else the first message finds no tools
				s.fresh = time.Time{}
			}
		case ctx.Err() != nil: // nobody waits for it any more
			s.fresh = time.Time{}
		case !s.failed:
			s.failed = true
			s.log.Warn("the catalogue of tools cannot be read; the last one holds", "tools", len(s.tools), "err", err)
		}
	})
}

// news reads the catalogue if it is another one than that of the last time; nil else.
func (s *shelf) news(ctx context.Context) (map[string][]byte, uint64, error) {
	at, err := s.from.CatalogRevision(ctx)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	same := s.known && at == s.at
	s.mu.Unlock()
	if same {
		return nil, at, nil
	}
	read, err := s.from.Catalog(ctx)
	return read, at, err
}

func (s *shelf) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// due says whether the caller is to read the catalogue, or to wait for who does.
func (s *shelf) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !time.Now().Before(s.fresh) && (!s.looking || !s.known)
}

// stock puts what was read on the shelf. s.mu is held.
func (s *shelf) stock(read map[string][]byte) {
	if maps.EqualFunc(s.read, read, bytes.Equal) {
		return
	}
	s.read, s.made, s.tools = read, nil, nil
	for _, executor := range slices.Sorted(maps.Keys(read)) {
		var c toolv1.Catalogue
		if err := json.Unmarshal(read[executor], &c); err != nil {
			s.log.Warn("the tools of an executor cannot be read", "executor", executor, "err", err)
			continue
		}
		for _, t := range c.Tools {
			if t.Name != readSkill { // ours
				s.tools = append(s.tools, t)
			}
		}
	}
}

// offer is what a model of a dialect is offered in the name of an agent.
func (s *shelf) offer(a *agent, d offer.Dialect, skills bool) portables {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := wish{a, d, skills}
	if p, ok := s.made[w]; ok {
		return p
	}
	var list []toolv1.Tool
	if !a.Client || len(a.Allow) > 0 {
		list = offer.Tools(s.tools, a.Allow, a.Deny)
	}
	if skills { // its calls never leave the turn, so nothing allows or denies them
		list = append([]toolv1.Tool{skillTool}, list...)
	}
	var p portables
	if a.Client {
		p.tools, p.names = offer.Plain(list)
	} else {
		p.tools, p.names = offer.Portable(list, d)
	}
	if n := len(p.names.LeftOut); n > 0 {
		s.log.Warn("an agent has more tools than a model takes; choose with tools.allow and tools.deny",
			"taken", offer.MaxTools, "left_out", n, "first", p.names.LeftOut[0])
	}
	if s.made == nil {
		s.made = map[wish]portables{}
	}
	s.made[w] = p
	return p
}
