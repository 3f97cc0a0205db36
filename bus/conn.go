package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/nats-io/nuid"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// ConnOptions say where the bus is and who connects. Exactly one of URL and InProcess is set.
type ConnOptions struct {
	Service   string                     // the user: one a service
	URL       string                     // "nats://host:4222", or several with commas
	InProcess nats.InProcessConnProvider // the embedded server, without a socket
	Seed      []byte                     // nkey seed of the user; copied
	JWT       string                     // with Seed: a user of an operator-mode cluster (the creds file's first part)
	TLS       *tls.Config                // nil: none, or what the URL's scheme says
	Log       *slog.Logger               // required
	Recent    *Recent                    // shared by the connections of a process; nil: every read asks the server
	Hooks     Hooks                      // for metrics and traces; the zero value is silent
}

func (o ConnOptions) validate() error {
	switch {
	case o.Service == "":
		return errors.New("a connection needs a service name")
	case o.Log == nil:
		return errors.New("a connection needs a logger")
	case (o.URL == "") == (o.InProcess == nil):
		return errors.New("a connection needs either a URL or an embedded server")
	case o.JWT != "" && len(o.Seed) == 0:
		return errors.New("a user JWT needs its seed")
	}
	return nil
}

// Reconnecting goes on for ever: a service outlives its server. The wait doubles from the first to the last, ±30 %.
const (
	firstReconnect = 20 * time.Millisecond
	lastReconnect  = 2 * time.Second
	connectTimeout = 5 * time.Second
	drainTimeout   = 5 * time.Second
	maxViolations  = 100
)

// Conn is the one connection of one service to the bus. All methods may be called from any goroutine.
//
// What is published while the server is away fails at once and is not kept: an append that its caller believes failed
// must not happen seconds later.
type Conn struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	service  string
	instance string
	log      *slog.Logger
	closed   chan struct{} // closed once the connection is, for good
	recent   *Recent
	serving  serving
	outdated chan error // holds one: see Outdated
	aging    sync.Once
	hooks    Hooks
	clock    clock

	begun       time.Time     // when the connection was made
	reconnected atomic.Int64  // when the bus was last found again, in nanoseconds since begun: a stepped clock changes nothing
	reconnects  atomic.Uint64 // how often it had been found again then

	questions questions
	doubt     atomic.Bool    // whether somebody leads the journal: see stayLed
	depends   atomic.Bool    // whether it appends or has doorbells
	looking   sync.WaitGroup // for stayLed
	trouble   trouble        // why it is of no use while it stands

	mu         sync.Mutex
	violations []string // guarded by mu; at most maxViolations
}

// Connect opens the connection of a service under a fresh instance name. A server that cannot be reached is a
// fault.Unavailable, one that refuses the user a fault.Denied.
func Connect(ctx context.Context, o ConnOptions) (*Conn, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Conn{
		service:  o.Service,
		instance: nuid.Next(),
		log:      o.Log.With("service", o.Service),
		closed:   make(chan struct{}),
		recent:   o.Recent,
		outdated: make(chan error, 1),
		hooks:    o.Hooks.OrSilent(),
		begun:    time.Now(),
	}
	c.questions.waiting = make(map[uint64]question)
	c.reconnected.Store(math.MinInt64 / 2) // never
	opts, err := c.options(ctx, o)
	if err != nil {
		return nil, err
	}
	if c.nc, err = nats.Connect(o.URL, opts...); err != nil {
		return nil, connectFault(o, err)
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(requestTimeout)); err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	if o.InProcess == nil {
		c.looking.Go(c.stayLed)
	}
	return c, nil
}

// requestTimeout bounds JetStream requests whose context has no deadline of its own. A synced append may queue behind
// hundreds of others.
const requestTimeout = 10 * time.Second

// syncQueue is how many answers to one question may wait to be read: a batch, the last messages of the 1,024 subjects at most that
// the server gives at once, or a backup's window. nats.go takes this room, 8 bytes each, for each question anew; its default is
// half a megabyte.
const syncQueue = 4096

func (c *Conn) options(ctx context.Context, o ConnOptions) ([]nats.Option, error) {
	timeout := connectTimeout
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(d), time.Millisecond))
	}
	opts := []nats.Option{
		nats.Name("jetclaw-" + o.Service),
		nats.CustomInboxPrefix(inboxPrefix(o.Service)),
		nats.Timeout(timeout),
		nats.DrainTimeout(drainTimeout),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.SyncQueueLen(syncQueue),
		nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(c.onError),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.DisconnectErrHandler(c.onDisconnect),
		nats.ReconnectHandler(c.onReconnect),
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess))
	} else {
		// A dead peer is noticed well before a person would; in process there is no wire that could be cut.
		opts = append(opts, nats.PingInterval(10*time.Second), nats.MaxPingsOutstanding(2))
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	if len(o.Seed) == 0 {
		return opts, nil
	}
	auth, err := authOption(o.JWT, o.Seed)
	if err != nil {
		return nil, fmt.Errorf("key of the bus user %s: %w", o.Service, err)
	}
	return append(opts, auth), nil
}

// authOption keeps the seed in the signing callback only; errors never quote it.
func authOption(jwt string, seed []byte) (nats.Option, error) {
	kp, err := nkeys.FromSeed(append([]byte(nil), seed...))
	if err != nil {
		return nil, errors.New("not an nkey seed")
	}
	if jwt != "" {
		return nats.UserJWT(func() (string, error) { return jwt, nil }, kp.Sign), nil
	}
	public, err := kp.PublicKey()
	if err != nil {
		return nil, errors.New("not an nkey seed")
	}
	return nats.Nkey(public, kp.Sign), nil
}

func connectFault(o ConnOptions, err error) error {
	where, hint := "the embedded server", "is it still starting, or already shut down?"
	if o.URL != "" {
		where, hint = redactURL(o.URL), "check that a server listens there and that the address is right"
	}
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return fault.New(fault.Denied, "%s refuses the user %s: its key is not one that this server knows; "+
			"check the credentials: %w", where, o.Service, err)
	}
	if told := tlsHint(o, err); told != "" {
		return fault.New(fault.Denied, "connect to %s as %s: %s: %w", where, o.Service, told, err)
	}
	return fault.New(fault.Unavailable, "connect to %s as %s: %s: %w", where, o.Service, hint, err)
}

func reconnectDelay(attempts int) time.Duration {
	d := lastReconnect
	if attempts < 8 {
		d = min(d, firstReconnect<<max(attempts-1, 0))
	}
	return time.Duration(float64(d) * (0.7 + 0.6*rand.Float64()))
}

func (c *Conn) onDisconnect(_ *nats.Conn, err error) {
	if err != nil {
		c.log.Warn("lost the bus, reconnecting", "error", err)
	}
	c.questions.end(errLost, func(question) bool { return true })
}

func (c *Conn) onReconnect(nc *nats.Conn) {
	c.reconnected.Store(int64(time.Since(c.begun)))
	c.reconnects.Store(nc.Stats().Reconnects)
	c.log.Info("the bus is back")
}

// justBack says whether the bus was found again less than d ago. The handler runs some time after the connection is back
// in use: until then only the count tells.
func (c *Conn) justBack(d time.Duration) bool {
	return c.nc.Stats().Reconnects != c.reconnects.Load() || time.Since(c.begun)-time.Duration(c.reconnected.Load()) < d
}

// onError is the only place where a refusal by the server's permissions can be seen: the refused call itself just
// times out.
func (c *Conn) onError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		c.log.Error("the bus refused what this service may not do", "error", err)
		c.hooks.Refused()
		c.mu.Lock()
		if len(c.violations) < maxViolations {
			c.violations = append(c.violations, err.Error())
		}
		c.mu.Unlock()
		c.questions.end(errRefused, func(q question) bool { return quotes(err.Error(), q.subject) })
		return
	}
	if sub != nil {
		c.log.Warn("trouble on the bus", "subject", sub.Subject, "error", err)
		return
	}
	c.log.Warn("trouble on the bus", "error", err)
}

// Service is the name of the service that this connection belongs to.
func (c *Conn) Service() string { return c.service }

// Instance is this connection's own name among the workers of its service; a new one at each start.
func (c *Conn) Instance() string { return c.instance }

// Log is the service's logger.
func (c *Conn) Log() *slog.Logger { return c.log }

// NATS is the connection itself.
func (c *Conn) NATS() *nats.Conn { return c.nc }

// JetStream is the JetStream interface of the connection.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Violations are the first permission refusals seen on this connection. A service that has any is built or
// configured wrongly.
func (c *Conn) Violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.violations...)
}

// flush returns once the server has seen all that was sent before: subscriptions are then in force.
func (c *Conn) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout) // nats.go refuses a context without a deadline
	defer cancel()
	return c.nc.FlushWithContext(ctx)
}

// Close drains: handlers at work finish, subscriptions end, what was received is handled, what was published is
// flushed. It returns when the connection is closed; when ctx ends first, it cuts.
func (c *Conn) Close(ctx context.Context) error {
	defer c.looking.Wait()
	c.serving.close(ctx)
	if err := c.nc.Drain(); err != nil { // reconnecting or closed: nothing can be drained
		c.nc.Close()
	}
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		c.nc.Close()
		<-c.closed
		return fmt.Errorf("drain the bus connection of %s: %w", c.service, context.Cause(ctx))
	}
}

// redactURL hides what stands before the @ of a URL: it may hold a password or token.
func redactURL(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		if at := strings.LastIndex(p, "@"); at >= 0 {
			scheme, _, ok := strings.Cut(p, "://")
			if !ok {
				scheme = "nats"
			}
			parts[i] = scheme + "://…@" + p[at+1:]
		}
	}
	return strings.Join(parts, ",")
}
