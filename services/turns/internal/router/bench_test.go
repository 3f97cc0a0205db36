package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/internal/router"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play is what a model does with one call.
type play func(ctx context.Context, onDelta func(string)) (model.Answer, error)

// scripted is a model that plays one after the other, and the last again and again.
type scripted struct {
	ref, endpoint, identity string
	plays                   []play
	asked                   int
}

func (s *scripted) Name() string     { return s.ref }
func (s *scripted) Endpoint() string { return s.endpoint }
func (s *scripted) Identity() string { return s.identity }

func (s *scripted) Generate(ctx context.Context, _ model.Request, onDelta func(string)) (model.Answer, error) {
	p := s.plays[min(s.asked, len(s.plays)-1)]
	s.asked++
	return p(ctx, onDelta)
}

func says(text string) play {
	return func(_ context.Context, onDelta func(string)) (model.Answer, error) {
		onDelta("")
		onDelta(text)
		return model.Answer{Text: text}, nil
	}
}

func fails(c model.Class, after time.Duration) play {
	return func(context.Context, func(string)) (model.Answer, error) {
		return model.Answer{}, &model.Error{
			Class: c, Cause: turnv1.ModelUnavailable, Text: "It is " + string(c) + ".", Detail: "detail of " + string(c), RetryAfter: after,
		}
	}
}

func hangs(ctx context.Context, _ func(string)) (model.Answer, error) {
	<-ctx.Done()
	return model.Answer{}, ctx.Err()
}

// catalog has the models of a test.
type catalog map[string]*scripted

func (c catalog) Model(ref string) (provider.Model, error) {
	if m, ok := c[ref]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("there is no model %s", ref)
}

func (c catalog) add(ref string, plays ...play) *scripted {
	m := &scripted{ref: ref, endpoint: "https://" + ref, identity: "k1", plays: plays}
	c[ref] = m
	return m
}

// store is a key-value store that a test can break.
type store struct {
	mu     sync.Mutex
	values map[string][]byte
	reads  int
	writes int
	broken bool
	slow   bool
}

var errBroken = errors.New("no store")

func (s *store) enter(ctx context.Context, count *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*count++
	if s.slow {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.broken {
		return errBroken
	}
	return nil
}

func (s *store) Value(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.enter(ctx, &s.reads); err != nil {
		return nil, false, err
	}
	v, ok := s.values[key]
	return v, ok, nil
}

func (s *store) SetValue(ctx context.Context, key string, value []byte) error {
	if strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_=-./") != "" {
		return fmt.Errorf("key %q", key)
	}
	if err := s.enter(ctx, &s.writes); err != nil {
		return err
	}
	s.values[key] = bytes.Clone(value)
	return nil
}

// bench is a router with its parts.
type bench struct {
	t      *testing.T
	router *router.Router
	models catalog
	store  *store
	log    *bytes.Buffer
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, models: catalog{}, store: &store{values: map[string][]byte{}}, log: &bytes.Buffer{}}
	b.restart()
	return b
}

func (b *bench) restart() {
	b.router = router.New(router.Config{Catalog: b.models, Store: b.store, Log: slog.New(slog.NewTextHandler(b.log, nil))})
}

// ask makes one call with a deadline of a minute and says which model answered, what was shown, and how long it took.
func (b *bench) ask(chain ...string) reply {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	shown, began := "", time.Now()
	got, err := b.router.Generate(ctx, chain, func(m provider.Model) model.Request { return model.Request{} }, func(s string) { shown += s })
	var e *model.Error
	if err != nil && !errors.As(err, &e) && !errors.Is(err, context.DeadlineExceeded) {
		b.t.Fatalf("not a *model.Error: %v", err)
	}
	return reply{got, shown, e, time.Since(began)}
}

// reply is what came of a call.
type reply struct {
	result router.Result
	shown  string
	failed *model.Error
	took   time.Duration
}

func (r reply) all() (router.Result, string, *model.Error, time.Duration) {
	return r.result, r.shown, r.failed, r.took
}

func tries(r router.Result) string {
	var s []string
	for _, t := range r.Tried {
		s = append(s, t.Model+": "+t.Detail)
	}
	return strings.Join(s, ", ")
}
