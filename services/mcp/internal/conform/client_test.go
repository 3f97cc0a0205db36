//go:build peers

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/oauth"
)

const (
	name     = "conformance"
	redirect = "http://localhost:3000/callback" // nobody listens there: the answer is read where it is sent
	// document is the client's description that the suite knows.
	document  = "https://conformance-test.local/client-metadata.json"
	maxLogins = 3
)

// person is whoever configures a server and logs in where that is needed.
type person struct {
	definition definition.Definition
	keeper     *oauth.Keeper
	logins     int
	log        *slog.Logger
}

// converse does what a scenario may ask of a client: it lists what the server has, and calls each tool.
func converse(ctx context.Context, server, scenario string) error {
	var has struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if scenario != "" {
		if err := json.Unmarshal([]byte(scenario), &has); err != nil {
			return fmt.Errorf("context of the scenario: %w", err)
		}
	}
	p := person{log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	p.definition = definition.Definition{
		URL: server, Transport: definition.StreamableHTTP, Elicitation: true,
		OAuth: &definition.OAuth{RedirectURL: redirect, ClientMetadataURL: document, ClientID: has.ID, ClientSecret: has.Secret},
	}
	if err := p.keep(); err != nil {
		return err
	}
	defer p.keeper.Close()
	s, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(ctx) }()
	return p.use(ctx, s)
}

func (p *person) keep() error {
	identity, err := oauth.NewIdentity()
	if err != nil {
		return err
	}
	sealer, err := oauth.NewSealer(identity)
	if err != nil {
		return err
	}
	p.keeper, err = oauth.New(oauth.Config{
		Store: &drawer{values: map[string]kept{}}, Seal: sealer, Now: time.Now, Log: p.log,
		HTTP: func(definition.Definition) *http.Client { return &http.Client{} },
	})
	return err
}

// connect logs in when the server wants that, as a person does who is told so.
func (p *person) connect(ctx context.Context) (*client.Session, error) {
	for {
		o := client.Options{
			Server: name, Definition: p.definition, Client: "conformance", Log: p.log, Changed: func(client.Kind) {},
			Elicit: func(context.Context, string, json.RawMessage) (string, json.RawMessage, error) {
				return "accept", json.RawMessage("{}"), nil
			},
		}
		if p.definition.Auth != "" {
			o.Authorize = p.keeper.Authorizer(name, p.definition)
		}
		s, err := client.Connect(ctx, o)
		if err == nil || !p.refused(err) {
			return s, err
		}
		if err := p.login(ctx); err != nil {
			return nil, err
		}
	}
}

// refused says whether a login may help, once more.
func (p *person) refused(err error) bool {
	var refused *client.RefusedError
	var login *oauth.ErrLogin
	return (errors.As(err, &refused) || errors.As(err, &login)) && p.logins < maxLogins
}

// login opens the page, which agrees at once and sends the browser back.
func (p *person) login(ctx context.Context) error {
	p.logins++
	p.definition.Auth = "oauth"
	l, err := p.keeper.Begin(ctx, name, p.definition, redirect)
	if err != nil {
		return fmt.Errorf("begin a login: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, nil)
	if err != nil {
		return err
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		return err
	}
	q := back.Query()
	if q.Get("code") == "" {
		return fmt.Errorf("the page of the login answers %s and sends to %s", res.Status, back)
	}
	if err := p.keeper.Finish(ctx, name, p.definition, q.Get("code"), q.Get("state"), q.Get("iss")); err != nil {
		return fmt.Errorf("finish a login: %w", err)
	}
	return nil
}

func (p *person) use(ctx context.Context, s *client.Session) error {
	info := s.Info()
	if info.Resources {
		if _, err := s.ListResources(ctx, ""); err != nil {
			return fmt.Errorf("resources: %w", err)
		}
	}
	if info.Prompts {
		if _, err := s.ListPrompts(ctx, ""); err != nil {
			return fmt.Errorf("prompts: %w", err)
		}
	}
	if !info.Tools {
		return nil
	}
	tools, err := s.Tools(ctx)
	for err != nil && p.refused(err) {
		if err := p.login(ctx); err != nil {
			return err
		}
		tools, err = s.Tools(ctx)
	}
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	for _, t := range tools {
		args, err := arguments(t.Schema)
		if err != nil {
			return fmt.Errorf("schema of %s: %w", t.Name, err)
		}
		if err := p.call(ctx, s, t.Name, args); err != nil {
			return fmt.Errorf("call %s: %w", t.Name, err)
		}
	}
	return nil
}

func (p *person) call(ctx context.Context, s *client.Session, tool string, args json.RawMessage) error {
	for {
		_, err := s.Call(ctx, tool, args, func(client.Progress) {})
		if err == nil || !p.refused(err) {
			return err
		}
		if err := p.login(ctx); err != nil {
			return err
		}
	}
}

// arguments are made up from a schema: one of each property.
func arguments(schema json.RawMessage) (json.RawMessage, error) {
	var s struct {
		Properties map[string]struct {
			Type string            `json:"type"`
			Enum []json.RawMessage `json:"enum"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, p := range s.Properties {
		switch {
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case p.Type == "number" || p.Type == "integer":
			out[name] = 3
		case p.Type == "boolean":
			out[name] = true
		case p.Type == "array":
			out[name] = []any{}
		case p.Type == "object":
			out[name] = map[string]any{}
		default:
			out[name] = "text"
		}
	}
	return json.Marshal(out)
}

// drawer keeps credentials for as long as the program runs.
type drawer struct {
	mu     sync.Mutex
	values map[string]kept // guarded by mu
}

type kept struct {
	value    []byte
	revision uint64
}

func (d *drawer) Load(_ context.Context, key string) ([]byte, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.values[key]
	return k.value, k.revision, nil
}

func (d *drawer) Save(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.values[key].revision != revision {
		return 0, oauth.ErrConflict
	}
	d.values[key] = kept{value, revision + 1}
	return revision + 1, nil
}
