package mcp

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// asServer makes a copy of the test program an MCP server.
const asServer = "TEST_AS_MCP_SERVER"

func TestMain(m *testing.M) {
	if kind, ok := strings.CutPrefix(strings.Join(os.Args[1:], " "), hostile); ok && os.Getenv(asServer) != "" {
		behave(kind)
		return
	}
	if os.Getenv(asServer) != "" {
		if err := fakemcp.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// These tests wait for processes and time limits more than they work.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	patience = 60 * time.Second
	somebody = session.ID("main.http.test.one")
	another  = session.ID("main.http.test.two")
	canary   = "canary-9f3b7c1d5e"
)

// house is a bus with the service and a configuration; the test speaks for the gate.
type house struct {
	t      *testing.T
	srv    *bustest.Server
	gate   *bus.Conn
	home   string
	ledger fakemcp.Ledger
	s      *Service
	stop   func()
	change chan struct{}
	calls  int

	mu      sync.Mutex
	servers map[string]definition.Definition
	events  []envelope.Event
	news    chan struct{}
}

func keys() (ed25519.PublicKey, ed25519.PrivateKey) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	return key.Public().(ed25519.PublicKey), key
}

// fake is a server that is a copy of this program.
func (h *house) fake(args ...string) definition.Definition {
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	return definition.Definition{
		Command: self, Args: append([]string{"--ledger", string(h.ledger)}, args...), Env: map[string]string{asServer: h.home},
		Approval: definition.Approve, SupportsParallelToolCalls: true,
	}
}

func newHouse(t *testing.T) *house {
	t.Helper()
	t.Parallel()
	h := &house{
		t: t, home: t.TempDir(), servers: map[string]definition.Definition{}, news: make(chan struct{}, 1), change: make(chan struct{}, 1),
	}
	h.ledger = fakemcp.Ledger(filepath.Join(h.home, "ledger"))
	h.srv = bustest.New(t, Spec(), bus.Spec{
		Name: "tools", Appends: []string{"call.dispatched.*", "turn.cancelled", "session.deleted"}, ReadsCatalog: true,
	}, bus.Spec{Name: "cli", Asks: []string{"mcp.status", "mcp.reload", "mcp.probe"}, Follows: true})
	h.gate = h.srv.Connect(t, "tools")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := h.srv.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			h.mu.Lock()
			h.events = append(h.events, e)
			h.mu.Unlock()
			select {
			case h.news <- struct{}{}:
			default:
			}
			return nil
		})
		if ctx.Err() != nil {
			err = nil
		}
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

// configure sets the servers, as a change of the file does, and makes their consumers, as their owner does.
func (h *house) configure(servers map[string]definition.Definition) {
	h.t.Helper()
	h.mu.Lock()
	h.servers = maps.Clone(servers)
	h.mu.Unlock()
	admin := h.srv.Admin()
	topology := bus.Topology{Consumers: bus.TopologyOf(nil, bus.DefaultLimits(), Executors(servers)...).Consumers}
	if _, err := bus.Apply(h.t.Context(), admin.JetStream(), topology); err != nil {
		h.t.Fatal(err)
	}
	select {
	case h.change <- struct{}{}:
	default:
	}
}

// start runs a worker of the service until the test ends, or until stop.
func (h *house) start() {
	h.t.Helper()
	public, _ := keys()
	s, err := New(Config{
		Conn: h.srv.Connect(h.t, Name), Key: public, Changed: h.change, Known: []string{canary},
		Servers: func() (map[string]definition.Definition, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return maps.Clone(h.servers), nil
		},
		World: World{
			Home: h.home, Environ: os.Environ(), Version: "test",
			Resolve: func(d definition.Definition) (definition.Definition, []string, error) {
				return d.Resolve(func(ref string) (string, error) {
					if ref == "env:CANARY" {
						return canary, nil
					}
					return "", fmt.Errorf("%s is not set", ref)
				})
			},
		},
		Log: slog.New(slog.NewTextHandler(h.t.Output(), nil)),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	h.s = s
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("it ended with %v", err)
		}
	})
	h.t.Cleanup(h.stop)
	if err := s.Ready(ctx); err != nil {
		h.t.Fatal(err)
	}
}

// until waits for what follows by itself.
func (h *house) until(what string, is func() bool) {
	h.t.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-deadline:
			h.t.Fatalf("it does not come to this: %s", what)
		case <-look.C:
		}
	}
}

// catalogue is what a server offers now; false for nothing.
func (h *house) catalogue(server string) (toolv1.Catalogue, bool) {
	h.t.Helper()
	all, err := h.gate.Catalog(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var c toolv1.Catalogue
	raw, ok := all[subject.Executor(Name, server)]
	if ok {
		if err := json.Unmarshal(raw, &c); err != nil {
			h.t.Fatal(err)
		}
	}
	return c, ok
}

// offered waits until a server offers a tool.
func (h *house) offered(server, tool string) toolv1.Tool {
	h.t.Helper()
	var found toolv1.Tool
	h.until(server+" offers "+tool, func() bool {
		c, _ := h.catalogue(server)
		t, ok := c.Find(server + "__" + tool)
		found = t
		return ok
	})
	return found
}

// dispatched is a call as the gate would hand it out.
func (h *house) dispatched(server, tool, args string) callv1.Dispatched {
	h.t.Helper()
	t := h.offered(server, tool)
	h.calls++
	raw, err := canonical.JSON([]byte(args))
	if err != nil {
		h.t.Fatal(err)
	}
	return callv1.Dispatched{
		Request: callv1.Request{
			Turn: "m1/t", Call: fmt.Sprint("c", h.calls), Tool: t.Name, Executor: subject.Executor(Name, server), Arguments: raw,
			Digest: canonical.Digest(raw), ToolDigest: t.Digest(), Level: t.Level, Policy: "p1",
		},
		Rule: "level " + t.Level.String(), Limit: t.Timeout, Again: t.Again,
	}
}

func (h *house) post(id session.ID, b envelope.Body) {
	h.t.Helper()
	for {
		last, err := h.gate.Journal().Last(h.t.Context(), id)
		if err == nil {
			_, err = h.gate.Journal().Append(h.t.Context(), envelope.Event{Session: id, Prev: last, Body: b})
		}
		if fault.KindOf(err) == fault.Conflict {
			continue
		}
		if _, lost := err.(*bus.Conflict); lost { //nolint:errorlint // it is returned as it is
			continue
		}
		if err != nil {
			h.t.Fatal(err)
		}
		return
	}
}

// run hands out a call and returns its end.
func (h *house) run(id session.ID, d callv1.Dispatched) callv1.Completed {
	h.t.Helper()
	h.post(id, d)
	return h.end(d.Call)
}

func (h *house) end(call string) callv1.Completed {
	h.t.Helper()
	for _, ev := range h.wait(call+" ends", func(ev envelope.Event) bool {
		b, ok := ev.Body.(callv1.Completed)
		return ok && b.Call == call
	}) {
		return ev.Body.(callv1.Completed)
	}
	return callv1.Completed{}
}

// begun waits for the claim of a call.
func (h *house) begun(call string) {
	h.t.Helper()
	h.wait(call+" begins", func(ev envelope.Event) bool {
		b, ok := ev.Body.(callv1.Started)
		return ok && b.Call == call
	})
}

// wait returns the events that are so, once there is one.
func (h *house) wait(what string, is func(envelope.Event) bool) []envelope.Event {
	h.t.Helper()
	deadline := time.After(patience)
	for {
		h.mu.Lock()
		found := slices.DeleteFunc(slices.Clone(h.events), func(ev envelope.Event) bool { return !is(ev) })
		h.mu.Unlock()
		if len(found) > 0 {
			return found
		}
		select {
		case <-h.news:
		case <-deadline:
			h.t.Fatalf("it does not come to this: %s", what)
		}
	}
}

func (h *house) status(server string) ServerStatus {
	h.t.Helper()
	got, err := h.s.answerStatus(h.t.Context(), []byte(`{}`))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, one := range got.(Status).Servers {
		if one.Name == server {
			return one
		}
	}
	return ServerStatus{}
}

// alive says whether a process is there.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func (h *house) effects(tool string) map[string]int {
	h.t.Helper()
	got, err := h.ledger.Effects(tool)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

func text(s string) string { return strings.TrimSpace(s) }
