package turns

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/jetclaw/jetclaw/services/turns/internal/anthropic"
	"github.com/jetclaw/jetclaw/services/turns/internal/offline"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
	"github.com/jetclaw/jetclaw/services/turns/internal/pricedata"
	"github.com/jetclaw/jetclaw/services/turns/internal/relay"
	"github.com/jetclaw/jetclaw/services/turns/price"
)

// API is the protocol that a provider speaks.
type API string

// The protocols.
const (
	OpenAI    API = "openai"    // chat completions, and what imitates them
	Anthropic API = "anthropic" // messages
)

// OfflineProvider is the provider of the built-in model. It is always there.
const OfflineProvider = "offline"

// RelayProvider is the provider of the model that client agents have, and nobody else: no reference of a catalog leads to it.
const RelayProvider = relay.Provider

// Provider is one model API.
type Provider struct {
	API     API
	BaseURL string // required
	APIKey  string // "" sends none
	Window  int    // tokens of its models' windows, where they are not known by name; 0: unknown
	Vendor  string // "openai", "anthropic" when it is theirs: list prices hold; "" else
	Vision  Vision // whether its models can be shown pictures
}

// CatalogConfig says which providers there are.
type CatalogConfig struct {
	Providers map[string]Provider
	Named     []string // references that /model lists
	// Proxy is http.ProxyFromEnvironment or the like; nil goes to the servers directly.
	Proxy func(*http.Request) (*url.URL, error)
	// Observer is told of each call; nil: nobody is.
	Observer Observer
}

// Models makes models when they are first asked for. It is safe for concurrent use.
type Models struct {
	c  CatalogConfig
	mu sync.Mutex
	by map[string]*listed // guarded by mu
}

// listed is a model with what is known of it.
type listed struct {
	Model
	identity string
	api      API
	vendor   string
	window   int
	vision   Vision
	observer Observer // may be nil
}

// Identity changes with the endpoint and the key, and tells neither.
func (l *listed) Identity() string { return l.identity }

// NewCatalog checks the configuration; it calls nobody.
func NewCatalog(c CatalogConfig) (*Models, error) {
	m := &Models{c: c, by: map[string]*listed{}}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if name == "" || name == OfflineProvider || name == RelayProvider || strings.Contains(name, "/") {
			return nil, fmt.Errorf("a provider cannot be called %q", name)
		}
		if _, err := m.build(name, "any"); err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
	}
	return m, nil
}

// Model is the model of a reference; "offline" alone will do for the built-in one.
func (m *Models) Model(ref string) (Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.by[ref]; ok {
		return l, nil
	}
	provider, name, ok := strings.Cut(ref, "/")
	if !ok && ref != OfflineProvider || provider != OfflineProvider && name == "" {
		return nil, fmt.Errorf("a model is written as provider/model, not %q", ref)
	}
	l, err := m.build(provider, name)
	if err != nil {
		return nil, err
	}
	for other, old := range m.by {
		if len(m.by) < maxListed {
			break
		}
		delete(m.by, other) // any: it is made again when it is asked for
		if c, ok := old.Model.(interface{ CloseIdle() }); ok {
			c.CloseIdle()
		}
	}
	m.by[ref] = l
	return l, nil
}

// maxListed bounds the models that are remembered, each with connections of its own: people can name any.
const maxListed = 256

func (m *Models) build(provider, name string) (*listed, error) {
	if provider == OfflineProvider {
		return &listed{Model: offline.Model{}, identity: OfflineProvider, vendor: price.Offline, observer: m.c.Observer}, nil
	}
	p, ok := m.c.Providers[provider]
	if !ok {
		return nil, fmt.Errorf("there is no provider %q; there is %s", provider, strings.Join(m.Providers(), ", "))
	}
	if err := p.Vision.validate(); err != nil {
		return nil, err
	}
	id := sha256.Sum256([]byte(p.BaseURL + "\x00" + p.APIKey))
	l := &listed{identity: hex.EncodeToString(id[:8]), api: p.API, vendor: p.Vendor, window: p.Window, vision: p.Vision, observer: m.c.Observer}
	var err error
	switch p.API {
	case OpenAI:
		l.Model, err = openai.New(openai.Config{Provider: provider, BaseURL: p.BaseURL, APIKey: p.APIKey, Model: name, Proxy: m.c.Proxy})
	case Anthropic:
		l.Model, err = anthropic.New(anthropic.Config{Provider: provider, BaseURL: p.BaseURL, APIKey: p.APIKey, Model: name, Proxy: m.c.Proxy})
	default:
		err = errors.New("its api must be openai or anthropic")
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Providers are the names that a reference may begin with.
func (m *Models) Providers() []string {
	return append(slices.Sorted(maps.Keys(m.c.Providers)), OfflineProvider)
}

// Named are the references that the configuration names.
func (m *Models) Named() []string { return slices.Clone(m.c.Named) }

// Prices are the vendors' list prices and windows with the configuration's own, which win.
func Prices(own []price.UserPrice) (price.Table, error) {
	t, err := price.Parse(pricedata.JSON())
	if err != nil {
		return price.Table{}, fmt.Errorf("list prices: %w", err)
	}
	return t.With(own), nil
}

// Only is a catalog of one model, whatever it is asked for.
func Only(m Model) Catalog { return only{m} }

type only struct{ m Model }

func (o only) Model(string) (Model, error) { return o.m, nil }

func (o only) Providers() []string {
	provider, _, _ := strings.Cut(o.m.Name(), "/")
	return []string{provider}
}

func (o only) Named() []string { return []string{o.m.Name()} }
