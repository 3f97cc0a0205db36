package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const patience = 30 * time.Second

// house is a bus with somebody who appends everything, and users who stand in for other services where those are asked.
type house struct {
	t    testing.TB
	bus  *bustest.Server
	all  *bus.Conn
	last map[session.ID]uint64
	n    int
}

func newHouse(t testing.TB) *house {
	t.Helper()
	all := bus.Spec{Name: "all"}
	for _, typ := range registry.All() {
		kind := envelope.KindOf(typ.Name)
		if _, ok := typ.Zero.(envelope.Suffixed); ok {
			kind += ".*"
		}
		all.Appends = append(all.Appends, kind)
	}
	specs := []bus.Spec{Spec(), all}
	verbs := map[string][]string{}
	for _, question := range Spec().Asks {
		service, verb, _ := strings.Cut(question, ".")
		verbs[service] = append(verbs[service], verb)
	}
	for service, verbs := range verbs {
		specs = append(specs, bus.Spec{Name: service, Serves: verbs})
	}
	h := &house{t: t, bus: bustest.New(t, specs...), last: map[session.ID]uint64{}}
	h.all = h.bus.Connect(t, "all")
	return h
}

// serve answers one question in place of a service, for as long as the test runs.
func (h *house) serve(service, verb string, answer bus.Handler) {
	h.t.Helper()
	if err := h.bus.Connect(h.t, service).Serve(h.t.Context(), verb, answer); err != nil {
		h.t.Fatal(err)
	}
}

// append stores an event behind what its session has.
func (h *house) append(s session.ID, b envelope.Body) envelope.Event {
	h.t.Helper()
	h.n++
	ev := envelope.Event{ID: fmt.Sprintf("e%d", h.n), Session: s, Prev: h.last[s], Time: time.Now().UTC(), Body: b}
	cursor, err := h.all.Journal().Append(h.t.Context(), ev)
	if err != nil {
		h.t.Fatal(err)
	}
	h.last[s], ev.Cursor = cursor, cursor
	return ev
}

const (
	annas = session.ID("main.telegram.mybot.1")
	bobs  = session.ID("main.telegram.mybot.2")
)

// says is a message of a person.
func (h *house) says(s session.ID, text string) envelope.Event {
	h.t.Helper()
	return h.append(s, messagev1.Received{From: messagev1.Sender{ID: "telegram:" + s.Peer(), Name: "Anna"}, Text: text})
}

// delete is the end of a session, and the purge of what was in it.
func (h *house) delete(s session.ID) envelope.Event {
	h.t.Helper()
	stone := h.append(s, turnv1.SessionDeleted{By: "cli"})
	h.purge(s, stone.Cursor)
	return stone
}

func (h *house) purge(s session.ID, below uint64) {
	h.t.Helper()
	if _, err := bus.PurgeSession(h.t.Context(), h.bus.Admin(), s, below); err != nil {
		h.t.Fatal(err)
	}
}

func newBridge(t testing.TB, change func(*Config)) *Bridge {
	t.Helper()
	c := Config{Version: "1", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&c)
	}
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// attach gives a bridge a connection of its own until end is called, and returns when it reads the journal.
func (h *house) attach(b *Bridge) (end func()) {
	h.t.Helper()
	conn := h.bus.Connect(h.t, Name)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Attach(ctx, conn) }()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("attach: %v", err)
		}
		closing, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := conn.Close(closing); err != nil {
			h.t.Errorf("close: %v", err)
		}
	}
	h.t.Cleanup(end)
	h.until(b, func() bool {
		_, _, begun := b.reader.ends()
		there, _ := b.line.now()
		return begun && there != nil
	})
	return end
}

// started is a bridge with a connection.
func (h *house) started() *Bridge {
	h.t.Helper()
	b := newBridge(h.t, nil)
	h.attach(b)
	return b
}

// until waits for something that the reader or the line tells of.
func (h *house) until(b *Bridge, ok func() bool) {
	h.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		news := b.reader.news()
		_, changed := b.line.now()
		if ok() {
			return
		}
		select {
		case <-news:
		case <-changed:
		case <-late.C:
			h.t.Fatal("it does not happen")
		}
	}
}

// caughtUp waits until a bridge has read everything that was stored.
func (h *house) caughtUp(b *Bridge) (upto uint64) {
	h.t.Helper()
	u, err := h.all.Journal().Usage(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.until(b, func() bool {
		_, upto, _ = b.reader.ends()
		return upto == u.Last
	})
	return upto
}

// pipes are those of a bridge that serves one client.
type pipes struct {
	in     *io.PipeWriter // what the client writes to
	out    *io.PipeReader
	served chan error // of one: what ServeStdio has returned
}

func serveStdio(ctx context.Context, b *Bridge) *pipes {
	in, client := io.Pipe()
	out, server := io.Pipe()
	s := &pipes{in: client, out: out, served: make(chan error, 1)}
	go func() {
		s.served <- b.ServeStdio(ctx, in, server)
		_ = in.Close() // the process is over
		_ = server.Close()
	}()
	return s
}

// connect is the SDK's client of a bridge, over stdio. When the test ends it leaves, and the server has to end by that.
func (h *house) connect(b *Bridge, name string) *mcp.ClientSession {
	h.t.Helper()
	s := serveStdio(context.Background(), b)
	c := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	cs, err := c.Connect(h.t.Context(), &mcp.IOTransport{Reader: s.out, Writer: s.in}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cs.Close() // the pipe says more
		if err := <-s.served; err != nil {
			h.t.Errorf("serve: %v", err)
		}
	})
	return cs
}

// heard is what a client reads in an answer.
type heard struct {
	Events []heardEvent `json:"events"`
	Event  *heardEvent  `json:"event"`
	Next   uint64       `json:"next_cursor"`
	More   bool         `json:"more"`
	Gap    *Gap         `json:"gap"`
}

type heardEvent struct {
	Cursor  uint64 `json:"cursor"`
	Type    string `json:"type"`
	Session string `json:"sessionKey"`
	Text    string `json:"text"`
	ID      string `json:"messageId"`
}

type args map[string]any

// try calls a tool; what the tool itself says has gone wrong is an error, too.
func try(ctx context.Context, cs *mcp.ClientSession, tool string, in args) (heard, error) {
	var out heard
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return out, err
	}
	if res.IsError {
		return out, errors.New(text(res))
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func call(t testing.TB, cs *mcp.ClientSession, tool string, in args) heard {
	t.Helper()
	out, err := try(t.Context(), cs, tool, in)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, in, err)
	}
	return out
}

func texts(events []heardEvent) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Text)
	}
	return strings.Join(all, ",")
}
