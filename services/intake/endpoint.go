package intake

import (
	"context"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// The verbs of svc.intake.
const (
	verbSubmit  = "submit"
	verbControl = "control"
	verbReply   = "reply"
)

// local is the identity of whoever may use the bus as a client: they can read the home's keys.
const local = "local"

// serve opens the endpoints until ctx ends.
func (s *Service) serve(ctx context.Context) error {
	for verb, h := range map[string]func(context.Context, []byte) (any, error){
		verbSubmit:  s.onSubmit,
		verbControl: s.onControl,
		verbReply:   s.onReply,

		verbPairingList:    s.onPairingList,
		verbPairingApprove: s.onPairingApprove,
		verbPairingRevoke:  s.onPairingRevoke,

		verbChannels: s.onChannels,
	} {
		err := s.conn.Serve(ctx, verb, func(ctx context.Context, data []byte) (any, error) {
			if !s.work.begin() {
				return nil, fault.New(fault.Unavailable, "intake is stopping")
			}
			defer s.work.end()
			return h(ctx, data)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) onSubmit(ctx context.Context, data []byte) (any, error) {
	var r Request
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	return s.submitLocal(ctx, r)
}

func (s *Service) onControl(ctx context.Context, data []byte) (any, error) {
	var r Request
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	if !thread.IsVerb(r.Verb) {
		return nil, fault.New(fault.Invalid, "verb %.40q: want %s", string(r.Verb), thread.Verbs)
	}
	return s.submitLocal(ctx, r)
}

// submitLocal lets a client of the bus speak for nobody but whoever owns the home.
func (s *Service) submitLocal(ctx context.Context, r Request) (any, error) {
	switch r.From.ID {
	case local:
	case "":
		r.From.ID = local
	default:
		return nil, fault.New(fault.Denied, "from.id %q: a client of the bus writes as %q", r.From.ID, local)
	}
	return s.Submit(ctx, r)
}

func (s *Service) onReply(ctx context.Context, data []byte) (any, error) {
	var r ReplyRequest
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	return s.Reply(ctx, r)
}

// working counts requests, and lets none begin once stop was called.
type working struct {
	mu      sync.Mutex
	n       int           // guarded by mu
	stopped chan struct{} // guarded by mu until made; nil before stop, closed when n is 0
}

func (w *working) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped != nil {
		return false
	}
	w.n++
	return true
}

func (w *working) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.stopped != nil {
		close(w.stopped)
	}
}

// stop lets no more begin. What it returns is closed when those that run have ended.
func (w *working) stop() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == nil {
		w.stopped = make(chan struct{})
		if w.n == 0 {
			close(w.stopped)
		}
	}
	return w.stopped
}
