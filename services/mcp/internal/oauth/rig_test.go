package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a Store in memory.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
	revs   map[string]uint64
	// beforeSave runs before each Save, which fails with its error.
	beforeSave func() error
}

func newShelf() *shelf { return &shelf{values: map[string][]byte{}, revs: map[string]uint64{}} }

func (s *shelf) Load(_ context.Context, key string) ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key], s.revs[key], nil
}

func (s *shelf) Save(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	s.mu.Lock()
	before := s.beforeSave
	s.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revs[key] != revision {
		return 0, ErrConflict
	}
	s.revs[key]++
	s.values[key] = value
	return s.revs[key], nil
}

func (s *shelf) before(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beforeSave = f
}

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a server, its authorization server, and a keeper.
type rig struct {
	*Keeper
	t     *testing.T
	as    *authority
	mcp   *house
	shelf *shelf
	clock *clock
	seal  *Sealer
	logs  *strings.Builder // written by log alone
	log   *slog.Logger
	d     definition.Definition
}

const callback = "http://127.0.0.1:7777/callback"

func newRig(t *testing.T) *rig {
	t.Helper()
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	seal, err := NewSealer(id)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, shelf: newShelf(), clock: &clock{now: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)}, seal: seal, logs: &strings.Builder{}}
	r.log = slog.New(slog.NewTextHandler(r.logs, nil))
	r.as = newAuthority(t)
	r.mcp = newHouse(t, r.as)
	r.d = definition.Definition{URL: r.mcp.http.URL + "/mcp", Auth: "oauth", Headers: map[string]string{"authorization": "Bearer static"}}
	r.Keeper = r.keeper(0)
	t.Cleanup(func() {
		for _, s := range r.as.secretsSeen() {
			if strings.Contains(r.logs.String(), s) {
				t.Errorf("the log has a secret: %s", r.logs)
			}
		}
	})
	return r
}

// keeper is another process beside the first.
func (r *rig) keeper(timeout time.Duration) *Keeper {
	r.t.Helper()
	k, err := New(Config{
		Store: r.shelf, Seal: r.seal, Now: r.clock.Now, Timeout: timeout,
		HTTP: func(definition.Definition) *http.Client { return &http.Client{} },
		Log:  r.log,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(k.Close)
	return k
}

func (r *rig) begin() Login {
	r.t.Helper()
	l, err := r.Begin(r.t.Context(), "docs", r.d, callback)
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// login does all that a person does.
func (r *rig) login() {
	r.t.Helper()
	l := r.begin()
	back := r.as.approve(l.URL)
	if err := r.Finish(r.t.Context(), "docs", r.d, back.Get("code"), back.Get("state"), back.Get("iss")); err != nil {
		r.t.Fatal(err)
	}
}

// call calls the server as a session does: with the header, and once more when that helps. It returns the status.
func (r *rig) call(a *Authorizer) (int, error) {
	for again := false; ; again = true {
		header, err := a.Authorization(r.t.Context())
		if err != nil {
			return 0, err
		}
		status, challenge := r.mcp.call(header)
		if status == http.StatusOK || again {
			return status, nil
		}
		retry, err := a.Refused(r.t.Context(), status, challenge)
		if !retry || err != nil {
			return status, err
		}
	}
}

func (r *rig) works(a *Authorizer) {
	r.t.Helper()
	if status, err := r.call(a); status != http.StatusOK || err != nil {
		r.t.Fatalf("a call: status %d, %v", status, err)
	}
}

func (r *rig) status() Status {
	r.t.Helper()
	s, err := r.Status(r.t.Context(), "docs", r.d)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// record is what is stored.
func (r *rig) record() record {
	r.t.Helper()
	rec, _, err := r.load(r.t.Context(), "docs")
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// put changes what is stored, as another process would.
func (r *rig) put(fn func(*record)) {
	r.t.Helper()
	if err := r.change(context.Background(), "docs", func(rec *record) (bool, error) { fn(rec); return true, nil }); err != nil {
		r.t.Error(err)
	}
}

func needsLogin(t *testing.T, err error) {
	t.Helper()
	var login *ErrLogin
	if !errors.As(err, &login) || login.Server != "docs" || !strings.Contains(err.Error(), `"jetclaw mcp login docs"`) {
		t.Fatalf("error %v, want one that asks for a login", err)
	}
}

func query(t *testing.T, raw string) url.Values {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}
