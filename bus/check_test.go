package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// checked is a service at its start, as a user that the server allows what spec says.
func checked(t *testing.T, srv *bustest.Server, service, key string, needs bus.Spec) error {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := bus.Connect(t.Context(), bus.ConnOptions{Service: service, URL: srv.URL(), Seed: srv.Seed(key), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(ctx) // a user of another inbox cannot be drained
	}()
	return c.Check(t.Context(), needs, bus.PermissionsOf(needs))
}

func TestCheckSaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	srv := bustest.New(t, intake, reader)
	if err := checked(t, srv, "turns", "turns", reader); err != nil {
		t.Fatal(err)
	}
	more := reader
	more.Appends = append([]string{"turn.failed"}, more.Appends...)
	err := checked(t, srv, "turns", "turns", more)
	if refused, ok := errors.AsType[*bus.RefusedError](err); !ok || len(refused.Publish) != 1 {
		t.Fatal(err)
	}
	for _, want := range []string{"user turns", "publish to ev.*.*.*.*.*.turn.failed", "jetclaw nats permissions --user turns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// The key of another user cannot even be answered to, and is known all the same.
func TestCheckKnowsAForeignKey(t *testing.T) {
	t.Parallel()
	srv := bustest.New(t, intake, reader)
	err := checked(t, srv, "turns", "intake", reader)
	if _, ok := errors.AsType[*bus.RefusedError](err); !ok || !strings.Contains(err.Error(), "user turns") || !strings.Contains(err.Error(), "another user") {
		t.Errorf("%v", err)
	}
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	bare := bustest.Bare(t, reader)
	missing := func(srv *bustest.Server, want string) {
		t.Helper()
		err := checked(t, srv, "turns", "turns", reader)
		if _, ok := errors.AsType[*bus.MissingError](err); !ok || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "jetclaw topology apply") {
			t.Errorf("%v", err)
		}
	}
	missing(bare, "stream EV")
	srv := bustest.New(t, reader)
	if err := srv.Admin().JetStream().DeleteConsumer(t.Context(), subject.Journal, "turns"); err != nil {
		t.Fatal(err)
	}
	missing(srv, "consumer EV/turns")
}

// contract sets the number that the journal carries.
func contract(t *testing.T, srv *bustest.Server, n string) {
	t.Helper()
	js := srv.Admin().JetStream()
	s, err := js.Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	c.Metadata["jetclaw.contract"] = n
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// An old jetclaw stops before the journal of a newer one, does not take its topology back, and passes none of its events by; a newer
// one asks for its topology first.
func TestContract(t *testing.T) {
	t.Parallel()
	srv := bustest.New(t, intake, reader)
	topology := bus.TopologyOf([]bus.Spec{intake, reader}, limits(1<<30))
	running := srv.Connect(t, "turns")
	stopped := make(chan error, 1)
	go func() { stopped <- running.Outdated(t.Context()) }()

	contract(t, srv, "0")
	if err := checked(t, srv, "turns", "turns", reader); !errors.Is(err, bus.ErrOlder) || !strings.Contains(err.Error(), "topology apply") {
		t.Errorf("an older topology: %v", err)
	}
	foreign := strings.TrimSuffix(subject.OfSession(id(t, "y")), ">") + "turn.dreamt"
	header := map[string][]string{
		"ce-id": {"1"}, "ce-type": {"turn.dreamt.v1"}, "ce-source": {"x"}, "ce-specversion": {"1.0"}, "jc-prev": {"0"},
		"ce-time": {time.Now().UTC().Format(time.RFC3339Nano)},
	}
	cursor := store(t, srv, foreign, header)
	if _, err := running.Journal().Get(t.Context(), cursor); err != nil {
		t.Errorf("an event of nobody, in a journal of our own: %v", err)
	}
	contract(t, srv, "999")
	if err := checked(t, srv, "turns", "turns", reader); !errors.Is(err, bus.ErrNewer) || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a newer journal: %v", err)
	}
	for name, fn := range map[string]func() error{
		"plan":  func() error { _, err := bus.Plan(t.Context(), srv.Admin().JetStream(), topology); return err },
		"apply": func() error { _, err := bus.Apply(t.Context(), srv.Admin().JetStream(), topology); return err },
	} {
		if err := fn(); !errors.Is(err, bus.ErrNewer) {
			t.Errorf("%s on a newer journal: %v", name, err)
		}
	}
	cursor = store(t, srv, foreign, header)
	if _, err := running.Journal().Get(t.Context(), cursor); !errors.Is(err, bus.ErrNewer) {
		t.Errorf("an event of a newer one is read: %v", err)
	}
	select {
	case err := <-stopped:
		if !errors.Is(err, bus.ErrNewer) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("who runs already is not told")
	}
	if registry.Contract < 1 {
		t.Error("a journal has a contract")
	}
}

// store puts a message into the journal as nobody's service.
func store(t *testing.T, srv *bustest.Server, subj string, h map[string][]string) uint64 {
	t.Helper()
	ack, err := srv.Admin().JetStream().PublishMsg(t.Context(), &nats.Msg{Subject: subj, Header: h, Data: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}
