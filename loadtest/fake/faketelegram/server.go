package faketelegram

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// DefaultToken is the token of the bot that a server has when none is named. It opens nothing anywhere else.
const DefaultToken = "123456789:TEST-token_for-the-fake-Bot-API-server"

// Bot is one bot of the server.
type Bot struct {
	ID       int64  // default: the number before the colon of its token
	Username string // default: test_bot
	Name     string // first name; default: Test
	// FirstUpdate is the id of its first update; default 870000001.
	FirstUpdate int64
}

// Options of a server; the zero value has one bot with DefaultToken and Telegram's limits.
type Options struct {
	Tokens  map[string]Bot // token → bot
	Limits  Limits
	Listen  string               // default 127.0.0.1:0
	Log     func(string, ...any) // told of every call, never of a token; nil: nobody
	Lenient bool                 // as forgiving as Telegram; see the package's comment
	Now     func() time.Time     // default time.Now

	CallbackTTL  time.Duration     // how long a tap can be answered; default 10 minutes
	WebhookRetry time.Duration     // a webhook that fails is asked again at once, then after 2, 4, 8 … of these; default 1 s
	Transport    http.RoundTripper // of calls to webhooks; default: a transport of its own
}

// Server is a running fake. Its methods may be called from any goroutine.
type Server struct {
	o       Options
	url     string
	http    http.Server
	hooks   http.Client
	closing chan struct{} // closed when Close begins
	once    sync.Once
	wg      sync.WaitGroup // the listener and the webhooks' goroutines

	mu       sync.Mutex // guards all below
	bots     map[string]*bot
	chats    map[int64]*chat
	users    map[int64]User
	files    map[string]*file // by file_id
	taps     map[string]*tap
	faults   []*Fault
	calls    []Call
	count    counters
	serial   int           // of files and taps
	repeated map[said]int  // texts that stand in a chat more than once
	reported chan struct{} // closed at the next change; nil while nobody waits
}

// New makes a server that does not listen: mount its Handler, and Close it at the end.
func New(o Options) *Server {
	if len(o.Tokens) == 0 {
		o.Tokens = map[string]Bot{DefaultToken: {}}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	o.CallbackTTL = orElse(o.CallbackTTL, 10*time.Minute)
	o.WebhookRetry = orElse(o.WebhookRetry, time.Second)
	if o.Transport == nil {
		o.Transport = &http.Transport{}
	}
	o.Limits = o.Limits.withDefaults()
	s := &Server{
		o: o, closing: make(chan struct{}),
		bots: map[string]*bot{}, chats: map[int64]*chat{}, users: map[int64]User{}, files: map[string]*file{},
		taps: map[string]*tap{}, repeated: map[said]int{}, count: counters{refused: map[string]int{}},
	}
	s.hooks = http.Client{Transport: o.Transport, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for token, b := range o.Tokens {
		s.bots[token] = newBot(token, b, o.Limits)
	}
	return s
}

// Start listens and serves until Close.
func Start(o Options) (*Server, error) {
	addr := o.Listen
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("fake telegram: %w", err)
	}
	s := New(o)
	s.url = "http://" + l.Addr().String()
	s.http.Handler = s.Handler()
	s.http.ReadHeaderTimeout = 10 * time.Second
	s.wg.Go(func() { _ = s.http.Serve(l) }) // always ErrServerClosed after Close
	return s, nil
}

// URL is the root of the API, without a slash at its end; "" of a server that does not listen.
func (s *Server) URL() string { return s.url }

// Handler serves the API at its root.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Close ends all polls and webhooks and waits for them. Calls that are open in a Handler which was mounted elsewhere end by
// themselves.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.mu.Lock()
		for _, b := range s.bots {
			b.unhook()
		}
		s.mu.Unlock()
		_ = s.http.Close()
	})
	s.wg.Wait()
	s.hooks.CloseIdleConnections()
}

// Wait returns as soon as ok does; it is asked again after every change. The error is that of the context.
func (s *Server) Wait(ctx context.Context, ok func(*Server) bool) error {
	for {
		s.mu.Lock()
		if s.reported == nil {
			s.reported = make(chan struct{})
		}
		next := s.reported
		s.mu.Unlock()
		if ok(s) {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("wait: %w", context.Cause(ctx))
		}
	}
}

// changed wakes whoever waits; s.mu is held.
func (s *Server) changed() {
	if s.reported != nil {
		close(s.reported)
		s.reported = nil
	}
}

// bot finds one by its token or its username, or the only one by "". A name that nobody has is a mistake in the test.
func (s *Server) bot(name string) *bot {
	if b := s.bots[name]; b != nil {
		return b
	}
	if name == "" && len(s.bots) == 1 {
		for _, b := range s.bots {
			return b
		}
	}
	for _, token := range slices.Sorted(maps.Keys(s.bots)) {
		if b := s.bots[token]; b.Username == name {
			return b
		}
	}
	panic(fmt.Sprintf("faketelegram: no bot %q", name))
}

// pause waits, or returns false as soon as the caller is gone or the server closes.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
