package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/httpapi"
	"github.com/jetclaw/jetclaw/services/intake/internal/telegram"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

func kind(b envelope.Body) string { return envelope.KindOf(b.EventType()) }

const name = "intake"

// Spec says what intake does on the bus.
func Spec() bus.Spec {
	return bus.Spec{
		Name: name,
		Appends: []string{
			kind(messagev1.Received{}), kind(messagev1.Edited{}), kind(messagev1.Refused{}), kind(messagev1.Control{}),
			kind(messagev1.Decision{}), kind(messagev1.Reacted{}), kind(messagev1.Quarantined{}),
			kind(messagev1.PermissionAnswer{}),
			kind(accessv1.Requested{}), kind(accessv1.Granted{}), kind(accessv1.Revoked{}), kind(accessv1.Moved{}),
			kind(noticev1.Posted{}) + "." + name,
		},
		Snapshots: true,
		Values:    true,
		Leases:    true,
		Serves: []string{
			verbSubmit, verbControl, verbReply, verbPairingList, verbPairingApprove, verbPairingRevoke, verbChannels,
		},
		Asks:    []string{approvals + "." + verbGet, approvals + "." + verbList},
		Follows: true,
	}
}

// watched are the kinds that end a message, a command or a decision, the one that lets them wait for a person, and the
// last one of a turn as a rule: it makes the next guess right.
func watched() []string {
	return []string{
		kind(turnv1.Completed{}), kind(turnv1.Failed{}), kind(turnv1.Cancelled{}), kind(deliveryv1.Sent{}),
		kind(noticev1.Posted{}) + ".turns", kind(turnv1.SessionConfigured{}), kind(turnv1.SessionCompacted{}),
		kind(turnv1.CompactionFailed{}), kind(turnv1.SessionReset{}), kind(turnv1.SessionDeleted{}),
		kind(approvalv1.Requested{}), kind(approvalv1.Decided{}), kind(noticev1.Posted{}) + "." + approvals,
	}
}

// HTTPConfig configures the HTTP channel.
type HTTPConfig = httpapi.Config

// DefaultHTTPConfig is the HTTP channel as it is without configuration; it has no tokens yet.
func DefaultHTTPConfig() HTTPConfig { return httpapi.DefaultConfig() }

// Config is what intake needs.
type Config struct {
	Conn   *bus.Conn       // as Spec().Name; required
	HTTP   *HTTPConfig     // nil: no listener
	Doors  map[string]Door // bots, by account
	Bots   []TelegramBot   // whose updates come in here; each has a door
	Owners []string        // identities whose answers to questions of programs outside count
	// JoinOwners says that those of who was made an owner when they were let in count, too.
	JoinOwners bool
	Limits     thread.Limits // zero: the default ones
	Log        *slog.Logger  // required
}

// drainLimit is how long requests that run may take when the service stops.
const drainLimit = 5 * time.Second

// Service is intake; see the package documentation. All methods may be called from any goroutine.
type Service struct {
	conn    *bus.Conn
	journal *bus.Journal
	folder  *actor.Folder[thread.State]
	access  *actor.Folder[access.State] // of accessv1.Session alone
	doors   map[string]Door             // by account; never written to
	owners  []string                    // never written to
	log     *slog.Logger
	limits  thread.Limits

	joinOwners bool
	http       *httpapi.Server   // nil: none
	bots       *telegram.Channel // nil: none
	desk       *desk             // of bots

	board   *board
	lanes   *lanes
	cursors *cursors
	room    room
	recheck time.Duration // recheckEvery

	addr     atomic.Value  // string, once it listens
	ready    chan struct{} // closed once everything is in force
	draining chan struct{} // closed when the service stops: waiters answer pending
	work     working
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("intake needs a connection to the bus")
	case c.Log == nil:
		return nil, errors.New("intake needs a logger")
	case c.Limits.MaxBytes < 0:
		return nil, fmt.Errorf("intake: at most %d bytes of a text: want more than 0", c.Limits.MaxBytes)
	case c.Limits.MaxBytes == 0:
		c.Limits = thread.DefaultLimits()
	}
	for account, d := range c.Doors {
		if d.Agent == "" {
			return nil, fmt.Errorf("intake: the bot %s has no agent", account)
		}
	}
	s := &Service{
		conn: c.Conn, journal: c.Conn.Journal(), log: c.Log, limits: c.Limits, owners: slices.Clone(c.Owners), joinOwners: c.JoinOwners,
		folder: actor.NewFolder(c.Conn, Spec(), thread.Version, thread.State.Apply),
		access: actor.NewFolder(c.Conn, Spec(), access.Version, access.State.Apply), doors: maps.Clone(c.Doors),
		board: newBoard(), lanes: newLanes(), cursors: newCursors(), recheck: recheckEvery,
		ready: make(chan struct{}), draining: make(chan struct{}),
	}
	if c.HTTP != nil {
		var err error
		if s.http, err = httpapi.New(*c.HTTP, s, s, c.Conn, c.Log, c.Limits.MaxBytes, s.draining); err != nil {
			return nil, err
		}
	}
	if len(c.Bots) > 0 {
		for _, b := range c.Bots {
			if d, ok := s.doors[b.Account]; !ok || d.Agent != b.Agent {
				return nil, fmt.Errorf("intake: the bot %s has no door, or another agent's", b.Account)
			}
		}
		s.desk = &desk{Service: s}
		var err error
		if s.bots, err = telegram.New(telegram.Config{Bots: c.Bots, Desk: s.desk, Log: c.Log}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Addr is where HTTP listens, "" while it does not.
func (s *Service) Addr() string {
	a, _ := s.addr.Load().(string)
	return a
}

var errStopped = errors.New("intake has stopped")

// Ready returns nil once all ways in are open.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.ready:
		select {
		case <-s.draining: // both: it was ready once
			return errStopped
		default:
			return nil
		}
	case <-s.draining:
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("intake is not ready: %w", context.Cause(ctx))
	}
}

// Run serves until ctx ends or HTTP fails. When it returns nothing of it runs: no request is taken any more, those that
// ran are answered or, after drainLimit, cut. It is called once.
func (s *Service) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// What serves a request ends after it, not with ctx.
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	defer endServing()
	failed := make(chan error, 2) // HTTP, Telegram
	err := s.start(ctx, serving, failed, &parts)
	if err == nil {
		close(s.ready)
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	return errors.Join(err, s.drain(ctx))
}

// start opens the ways in, watching before any of them, so that no news of a message of this process is missed.
func (s *Service) start(ctx, serving context.Context, failed chan<- error, parts *sync.WaitGroup) error {
	if err := s.conn.Watch(ctx, watched(), s.news); err != nil {
		return err
	}
	usage, err := s.journal.Usage(ctx)
	if err != nil {
		return err
	}
	s.room.set(usage)
	parts.Go(func() { s.watchRoom(ctx) })
	if err := s.serve(serving); err != nil {
		return err
	}
	if err := s.open(ctx, failed, parts); err != nil {
		return err
	}
	if s.http == nil {
		return nil
	}
	l, err := s.http.Listen(ctx)
	if err != nil {
		return err
	}
	s.addr.Store(l.Addr().String())
	parts.Go(func() {
		if err := s.http.Serve(l); err != nil {
			failed <- err
		}
	})
	return nil
}

// open begins to take updates of bots. It returns once the listeners of their webhooks are open; it waits for no bot.
func (s *Service) open(ctx context.Context, failed chan<- error, parts *sync.WaitGroup) error {
	if s.bots == nil {
		return nil
	}
	var err error
	if s.desk.leases, err = s.conn.Leases(ctx); err != nil {
		return err
	}
	ended := make(chan error, 1)
	parts.Go(func() {
		err := s.bots.Run(ctx)
		ended <- err
		if err != nil {
			failed <- err
		}
	})
	if err := s.bots.Ready(ctx); err != nil && ctx.Err() == nil {
		return <-ended
	}
	return nil
}

// drain answers what waits, lets what runs finish, and takes nothing more.
func (s *Service) drain(ctx context.Context) error {
	close(s.draining)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	var err error
	if s.http != nil {
		err = s.http.Shutdown(limit)
	}
	select {
	case <-s.work.stop():
		return err
	case <-limit.Done():
		return errors.Join(err, fmt.Errorf("drain intake: requests still ran after %s", drainLimit))
	}
}

// news takes what the watch brings; lossy, and concurrent for different kinds.
func (s *Service) news(e envelope.Event) {
	s.cursors.saw(e.Session, e.Cursor)
	s.board.news(e)
}
