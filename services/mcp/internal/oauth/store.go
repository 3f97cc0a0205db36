package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// Store keeps one value for each server, shared by all processes. Keys consist of letters, digits, "-", "_" and "=".
//
// Older values are not to be kept: they hold credentials that a logout has removed.
type Store interface {
	// Load returns the value of a key; an empty one when there is none or when it was removed. The revision is good for the next
	// Save in either case: 0 for a key that never was.
	Load(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Save replaces the value and returns its revision, or ErrConflict when revision is not the last. An empty value removes what
	// was there; revisions go on, so that a Save on top of what was removed conflicts.
	Save(ctx context.Context, key string, value []byte, revision uint64) (next uint64, err error)
}

// ErrConflict says that another process has saved in between.
var ErrConflict = errors.New("the record has changed in between")

// Config is what a Keeper works with. All but Timeout has to be set.
type Config struct {
	Store Store
	Seal  *Sealer
	// HTTP returns a client with the TLS settings of a definition. Its transport has to be nil or an *http.Transport. Certificates
	// of this client, and a switched off verification, are used for the host of the definition's URL only.
	HTTP func(d definition.Definition) *http.Client
	Now  func() time.Time
	Log  *slog.Logger
	// Timeout bounds each request; 0 means 30 s, which is also the most.
	Timeout time.Duration
}

const (
	maxTimeout = 30 * time.Second
	leaseFor   = 2 * maxTimeout // longer than a refresh can take, so that a lease does not end under its holder
	loginFor   = 10 * time.Minute
	early      = 30 * time.Second // before they end, tokens are renewed
	maxTries   = 32               // of a compare-and-set: others that are faster each time are no bad luck but a mistake
)

// Keeper keeps the credentials of all servers. Its methods may be called from any goroutine.
type Keeper struct {
	Config

	stop chan struct{} // closed by Close
	jobs sync.WaitGroup

	mu      sync.Mutex
	closed  bool               // guarded by mu
	flights map[string]*flight // guarded by mu; refreshes of this process that are under way, by server
	known   map[string]opened  // guarded by mu; the last record of each server that was decrypted
}

// opened is a record beside the value that it was decrypted from.
type opened struct {
	sealed []byte
	record record
}

// New returns a Keeper. Close it.
func New(c Config) (*Keeper, error) {
	switch {
	case c.Store == nil, c.Seal == nil, c.HTTP == nil, c.Now == nil, c.Log == nil:
		return nil, errors.New("a keeper of credentials needs a store, a sealer, an HTTP client, a clock and a log")
	case c.Timeout < 0 || c.Timeout > maxTimeout:
		return nil, fmt.Errorf("a request may take up to %s", maxTimeout)
	case c.Timeout == 0:
		c.Timeout = maxTimeout
	}
	return &Keeper{Config: c, stop: make(chan struct{}), flights: map[string]*flight{}, known: map[string]opened{}}, nil
}

// Close waits for refreshes that are under way, for their answers would be lost; a minute at most. None begins after it.
func (k *Keeper) Close() {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.stop)
	}
	k.mu.Unlock()
	k.jobs.Wait()
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// storeKey is a name that every store takes.
func storeKey(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "=" + hex.EncodeToString(sum[:])
}

// load returns the record of a server and its revision.
func (k *Keeper) load(ctx context.Context, name string) (record, uint64, error) {
	value, revision, err := k.Store.Load(ctx, storeKey(name))
	if err != nil {
		return record{}, 0, fmt.Errorf("read the credentials of %s: %w", name, err)
	}
	if len(value) == 0 {
		return record{}, revision, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if o, ok := k.known[name]; ok && bytes.Equal(o.sealed, value) {
		return o.record, revision, nil
	}
	var r record
	plain, err := k.Seal.Open(name, value)
	if err == nil && json.Unmarshal(plain, &r) != nil {
		err = errors.New("it is no record") // what Unmarshal says may show some of it
	}
	if err != nil {
		k.Log.Warn("stored credentials of an MCP server cannot be read; a login replaces them", "server", name, "err", err)
		r = record{unreadable: true}
	}
	k.known[name] = opened{value, r}
	return r, revision, nil
}

// save stores a record in the place of the one at revision. The zero record removes it.
func (k *Keeper) save(ctx context.Context, name string, r record, revision uint64) error {
	var sealed []byte
	if r.Resource != "" {
		plain, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("write the credentials of %s: %w", name, err)
		}
		if len(plain) > maxRecord {
			return fmt.Errorf("the credentials of %s have %d bytes: more than %d are not kept", name, len(plain), maxRecord)
		}
		if sealed, err = k.Seal.Seal(name, plain); err != nil {
			return err
		}
	}
	if _, err := k.Store.Save(ctx, storeKey(name), sealed, revision); err != nil {
		return fmt.Errorf("store the credentials of %s: %w", name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Resource == "" {
		delete(k.known, name)
	} else {
		k.known[name] = opened{sealed, r}
	}
	return nil
}

// backOff is a pause after a lost compare-and-set: what is read may still be what was there before.
func backOff(try int) time.Duration {
	return rand.N(min(time.Millisecond<<min(try, 10), leaseLook)) + 1
}

// change reads the record, lets fn change it, and saves it; again when another was faster. fn returns false to leave it as it is.
func (k *Keeper) change(ctx context.Context, name string, fn func(*record) (bool, error)) error {
	for try := range maxTries {
		r, revision, err := k.load(ctx, name)
		if err != nil {
			return err
		}
		save, err := fn(&r)
		if err != nil || !save {
			return err
		}
		if err = k.save(ctx, name, r, revision); !errors.Is(err, ErrConflict) {
			return err
		}
		if err := k.wait(ctx, backOff(try), nil); err != nil {
			return err
		}
	}
	return fmt.Errorf("store the credentials of %s: %w %d times", name, ErrConflict, maxTries)
}
