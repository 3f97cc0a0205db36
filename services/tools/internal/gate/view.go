package gate

import (
	"bytes"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// offer is one tool as an executor offers it.
type offer struct {
	tool     toolv1.Tool
	executor string
	endpoint string
	digest   string
	twice    bool // another executor offers one of the same name
}

// version is what of the version of a policy is about the tool.
func (o offer) version() string {
	return hashed(func(h hash.Hash) { put(h, o.executor, o.endpoint, o.digest) })
}

// view is what all executors offer, by name.
type view struct {
	source []toolv1.Catalogue // a copy of what it was made of
	offers map[string]offer
	names  []string // sorted
}

const (
	maxViews   = 16
	maxSchemas = 4096
)

// cache is what gates with different rules share: nothing in it depends on the rules.
type cache struct {
	mu      sync.Mutex
	views   []*view            // the newest last; guarded by mu
	schemas map[string]*schema // by digest of the tool; guarded by mu
}

func newCache() *cache { return &cache{schemas: map[string]*schema{}} }

// view is what the catalogues offer. The digests of tools cost more than a call is worth, so they are kept for as long as
// the catalogues say the same.
func (g *Gate) view(catalogues []toolv1.Catalogue) *view {
	g.cache.mu.Lock()
	defer g.cache.mu.Unlock()
	for _, v := range g.cache.views {
		if slices.EqualFunc(v.source, catalogues, sameCatalogue) {
			return v
		}
	}
	if len(g.cache.views) >= maxViews {
		g.cache.views = slices.Clone(g.cache.views[1:])
	}
	v := newView(catalogues)
	g.cache.views = append(g.cache.views, v)
	return v
}

// sameCatalogue says whether two catalogues decide the same. A pause decides nothing: a view outlives it.
func sameCatalogue(a, b toolv1.Catalogue) bool {
	return a.Executor == b.Executor && a.Endpoint == b.Endpoint && slices.EqualFunc(a.Tools, b.Tools, sameTool)
}

func sameTool(a, b toolv1.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema) && a.Level == b.Level &&
		a.Egress == b.Egress && a.Again == b.Again && a.Timeout == b.Timeout && slices.Equal(a.Paths, b.Paths) && a.Writes == b.Writes &&
		a.Untrusted == b.Untrusted && a.Private == b.Private && slices.Equal(a.Fixes, b.Fixes) && a.AnyArgs == b.AnyArgs &&
		a.Warning == b.Warning && a.Shell == b.Shell
}

// copied is a catalogue that nobody else writes to.
func copied(c toolv1.Catalogue) toolv1.Catalogue {
	c.Tools, c.Paused = slices.Clone(c.Tools), nil
	for i := range c.Tools {
		t := &c.Tools[i]
		t.Schema, t.Paths, t.Fixes = slices.Clone(t.Schema), slices.Clone(t.Paths), slices.Clone(t.Fixes)
	}
	return c
}

func newView(catalogues []toolv1.Catalogue) *view {
	v := &view{offers: map[string]offer{}}
	for _, c := range catalogues {
		c = copied(c)
		v.source = append(v.source, c)
		for _, t := range c.Tools {
			o := offer{tool: t, executor: c.Executor, endpoint: c.Endpoint, digest: t.Digest()}
			_, o.twice = v.offers[t.Name] // none of them is trusted to be the one that is meant
			v.offers[t.Name] = o
		}
	}
	for name := range v.offers {
		v.names = append(v.names, name)
	}
	slices.Sort(v.names)
	return v
}

// schema is the compiled schema of a tool.
func (g *Gate) schema(o offer) *schema {
	g.cache.mu.Lock()
	s, ok := g.cache.schemas[o.digest]
	g.cache.mu.Unlock()
	if ok {
		return s
	}
	s = compile(o.tool.Schema) // two may do it at once, and get the same
	s.foreign = strings.Contains(o.tool.Name, inServer)
	g.cache.mu.Lock()
	defer g.cache.mu.Unlock()
	if len(g.cache.schemas) >= maxSchemas {
		clear(g.cache.schemas)
	}
	g.cache.schemas[o.digest] = s
	return s
}
