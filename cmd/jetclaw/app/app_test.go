package app

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"
	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/bridge"
	"github.com/jetclaw/jetclaw/services/intake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEnv is a home with the offline model, without doors.
func newEnv(t *testing.T) Env {
	t.Helper()
	dir := t.TempDir()
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{home.EnvVar: dir}[name]
		return v, ok
	}
	h, err := home.Find(lookup)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Parse("jetclaw.yaml", []byte("models: {default: offline}\nchannels: {http: {listen: \"off\"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := &logs.Redactor{}
	return Env{
		Home: h, Config: c, Lookup: lookup, Environ: func() []string { return nil }, Secrets: secrets, Command: "jetclaw test", Version: "test",
		Log:    slog.New(slog.NewTextHandler(secrets.Writer(t.Output()), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Notice: func(text string) { t.Log(text) },
	}
}

func TestTargets(t *testing.T) {
	for list, want := range map[string]string{
		"all": "true outbox builtin mcp tools approvals turns conversations intake", "nats": "true ", "turns": "false turns", "intake, outbox": "false outbox intake",
		"nats,turns": "true turns", "": "error", "truns": "error", "turns,,": "error",
	} {
		got, err := ParseTarget(list)
		text := "error"
		if err == nil {
			text = map[bool]string{true: "true ", false: "false "}[got.Server] + strings.Join(got.Services, " ")
		}
		var te *TargetError
		if text != want || err != nil && !errors.As(err, &te) {
			t.Errorf("%q: %s (%v), want %s", list, text, err, want)
		}
	}
}

func TestEachServiceIsAUser(t *testing.T) {
	names := userNames()
	others := []string{bus.Admin, cliUser, bridge.Name} // no services of the daemon
	if len(names) != len(modules())+len(others) || slices.ContainsFunc(others, func(n string) bool { return !slices.Contains(names, n) }) {
		t.Errorf("users %q", names)
	}
	for _, u := range BusUsers() {
		if u.Name == bus.Admin {
			continue
		}
		if slices.Contains(u.Permissions.Publish, ">") || slices.Contains(u.Permissions.Subscribe, ">") {
			t.Errorf("%s may do everything", u.Name)
		}
	}
}

// ask has one message answered.
func ask(ctx context.Context, c *bus.Conn) (intake.Reply, error) {
	req := intake.Request{Session: "main.terminal.local.x", From: messagev1.Sender{ID: "local"}, Text: "hello"}
	r, err := bus.Ask[intake.Receipt](ctx, c, "intake", "submit", req)
	if err != nil {
		return intake.Reply{}, err
	}
	return bus.Ask[intake.Reply](ctx, c, "intake", "reply", intake.ReplyRequest{
		Session: req.Session, MessageID: r.MessageID, WaitMS: 9000,
	})
}

func TestWithServicesInProcess(t *testing.T) {
	e := newEnv(t)
	err := e.WithServices(t.Context(), func(ctx context.Context, c Client) error {
		if c.At != "" || !strings.HasPrefix(c.Models, "offline/echo") {
			t.Errorf("%+v", c)
		}
		var held *home.HeldError
		if _, err := e.acquire(false); !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
			t.Errorf("the home is not held: %v", err)
		}
		r, err := ask(ctx, c.Conn)
		if err == nil && r.Status != "completed" {
			t.Errorf("%+v", r)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err = e.WithJournal(t.Context(), func(ctx context.Context, c Client) error {
		u, err := c.Conn.Journal().Usage(ctx)
		if err != nil || u.Last != 4 {
			t.Errorf("%+v %v: the turn was not finished before the end", u, err)
		}
		if _, err := ask(ctx, c.Conn); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a service runs: %v", err)
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func TestWithServicesCancelled(t *testing.T) {
	e := newEnv(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := e.WithServices(ctx, func(ctx context.Context, _ Client) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := e.WithServices(ctx, func(context.Context, Client) error { t.Error("called"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestClientsOfADaemon has a daemon and two clients in one process, over TCP; it starts and stops it several times.
func TestClientsOfADaemon(t *testing.T) {
	e := newEnv(t)
	port := 0
	for range 3 {
		ctx, stop := context.WithCancel(t.Context())
		ready := make(chan Report, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- e.Run(ctx, Daemon{Target: everything(), Ready: func(r Report) { ready <- r }})
		}()
		select {
		case r := <-ready:
			if r.Sync != "always" || !strings.HasPrefix(r.Bus, "nats://127.0.0.1:") {
				t.Errorf("%+v", r)
			}
		case err := <-ended:
			t.Fatal(err)
		}
		if now := e.Home.Port(); port != 0 && now != port {
			t.Logf("another port: %d, then %d", port, now) // somebody took it in between
		} else {
			port = now
		}
		var clients sync.WaitGroup
		for range 2 {
			clients.Go(func() {
				err := e.WithServices(t.Context(), func(ctx context.Context, c Client) error {
					if c.At == "" {
						t.Error("it runs in process although there is a daemon")
					}
					_, err := ask(ctx, c.Conn)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		clients.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

// TestRunElsewhere uses a server with credentials from a folder and, for one service, from a file.
func TestRunElsewhere(t *testing.T) {
	server, other := newEnv(t), newEnv(t)
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan Report, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, Daemon{Target: Target{Server: true}, Ready: func(r Report) { ready <- r }})
	}()
	url := (<-ready).Bus
	up := make(chan Report, 1)
	go func() {
		ended <- other.Run(ctx, Daemon{
			Target: everything(), NATS: Away{URL: url, Creds: server.Home.Keys()}, Ready: func(r Report) { up <- r },
		})
	}()
	if r := <-up; r.Sync != "" || r.Bus != url {
		t.Errorf("%+v", r)
	}
	other.Config.Remote = config.Remote{URL: url, Creds: filepath.Join(server.Home.Keys(), "cli.nk")}
	err := other.WithServices(t.Context(), func(ctx context.Context, c Client) error {
		if c.At != url {
			t.Errorf("%+v", c)
		}
		_, err := ask(ctx, c.Conn)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	alone, cancel := context.WithCancel(t.Context()) // a service whose key is all that it has leaves the topology alone
	err = newEnv(t).Run(alone, Daemon{
		Target: Target{Services: []string{"outbox"}}, NATS: Away{URL: url, Creds: filepath.Join(server.Home.Keys(), "outbox.nk")},
		Ready: func(Report) { cancel() },
	})
	if cancel(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(other.Home.Data()); err != nil || len(entries) != 0 {
		t.Errorf("a store was made: %v %v", entries, err)
	}
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestNoServer(t *testing.T) {
	e := newEnv(t)
	if err := e.Run(t.Context(), Daemon{Target: Target{Services: []string{"turns"}}}); !errors.Is(err, ErrNoServer) {
		t.Errorf("got %v", err)
	}
}

func TestCreds(t *testing.T) {
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := kp.Seed()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("turns.nk", string(seed)+"\n")
	write("mine.nk", string(seed)+"\n")
	write("intake.creds", "-----BEGIN NATS USER JWT-----\neyJ0.eyJq.c2ln\n------END NATS USER JWT------\n\n"+
		"-----BEGIN USER NKEY SEED-----\n"+string(seed)+"\n------END USER NKEY SEED------\n")
	write("outbox.nk", "hunter22")
	for _, c := range []struct{ path, user, jwt, err string }{
		{dir, "turns", "", ""},
		{dir, "intake", "eyJ0.eyJq.c2ln", ""},
		{filepath.Join(dir, "turns.nk"), "turns", "", ""},
		{filepath.Join(dir, "turns.nk"), "admin", "", "is the key of turns"},
		{filepath.Join(dir, "mine.nk"), "turns", "", ""},
		{dir, "outbox", "", "holds no seed"},
		{dir, "missing", "", "neither missing.nk nor missing.creds"},
		{filepath.Join(dir, "nowhere"), "turns", "", "no such file"},
	} {
		id, err := credsOf(c.path, c.user)
		var ce *CredsError
		switch {
		case c.err == "" && (err != nil || !bytes.Equal(id.seed, seed) || id.jwt != c.jwt):
			t.Errorf("%s of %s: jwt %q, %v", c.user, c.path, id.jwt, err)
		case c.err != "" && (!errors.As(err, &ce) || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hunter22")):
			t.Errorf("%s of %s: %v", c.user, c.path, err)
		}
	}
	if _, err := credsOf(dir, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing key cannot be told from a wrong one: %v", err)
	}
	if id, err := credsOf("", "turns"); err != nil || id.seed != nil {
		t.Errorf("%v %v", id, err)
	}
}
