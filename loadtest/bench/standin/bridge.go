package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// eventsAfter is what the stand-in's daemon says to its MCP server.
type eventsAfter struct {
	Events []caller.Happened `json:"events"`
	Last   uint64            `json:"last"` // cursor of the journal's end
}

// events has all that was said behind a cursor.
func (d *daemon) events(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	st, err := d.js.Stream(r.Context(), subject.Journal)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	out := eventsAfter{Events: []caller.Happened{}, Last: st.CachedInfo().State.LastSeq}
	for i := after + 1; i <= out.Last; i++ {
		m, err := st.GetMsg(r.Context(), i)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		e, err := envelope.Decode(m.Subject, envelope.Header(m.Header), m.Data, m.Sequence, registry.Decode)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h := caller.Happened{Cursor: e.Cursor, Type: caller.MessageType, Session: string(e.Session), Message: e.ID}
		switch b := e.Body.(type) {
		case messagev1.Received:
			h.Role, h.Text = "user", b.Text
		case turnv1.Completed:
			h.Role, h.Text = "assistant", b.Text
		default:
			continue
		}
		out.Events = append(out.Events, h)
	}
	_ = json.NewEncoder(w).Encode(out)
}

// bridge is the smallest `jetclaw mcp serve`: it asks the stand-in's daemon again and again.
type bridge struct {
	daemon string
	bug    string // "", "skip" (one of the messages is not told) or "again" (each is told twice)
	begin  uint64
}

func serve(args []string) error {
	home := os.Getenv("JETCLAW_HOME")
	conf, err := os.ReadFile(filepath.Join(home, "jetclaw.yaml"))
	if err != nil {
		return err
	}
	b := &bridge{bug: os.Getenv("STANDIN_BUG")}
	for _, m := range field.FindAllStringSubmatch(string(conf), -1) {
		if m[1] == "listen" {
			b.daemon = "http://" + m[2]
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	all, err := b.get(ctx, 0)
	if err != nil {
		return err
	}
	b.begin = all.Last
	s := b.server()
	if len(args) < 2 || args[0] != "--http" {
		err := s.Run(ctx, &mcp.StdioTransport{})
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "keys", "mcp.token"), []byte("secret\n"), 0o600); err != nil {
		return err
	}
	l, err := net.Listen("tcp", args[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "MCP at http://%s/mcp  (bearer token in keys/mcp.token)\n", l.Addr())
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	web := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})}
	go func() { _ = web.Serve(l) }()
	<-ctx.Done()
	return web.Close()
}

type standInAsked struct {
	After   *uint64  `json:"after_cursor,omitempty"`
	Limit   int      `json:"limit,omitempty"`
	Search  string   `json:"search,omitempty"`
	Session string   `json:"session_key,omitempty"`
	Timeout int      `json:"timeout_ms,omitempty"`
	Types   []string `json:"types,omitempty"`
}

func (b *bridge) server() *mcp.Server {
	done := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "standin"}, &mcp.ServerOptions{
		SubscribeHandler: done, UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for name, do := range map[string]func(context.Context, standInAsked) (map[string]any, error){
		caller.ListTool: b.list, caller.ReadTool: b.read, caller.PollTool: b.poll, caller.WaitTool: b.wait,
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, in standInAsked) (*mcp.CallToolResult, map[string]any, error) {
			out, err := do(ctx, in)
			return nil, out, err
		})
	}
	return s
}

// get asks a daemon that may be away for a moment.
func (b *bridge) get(ctx context.Context, after uint64) (out eventsAfter, err error) {
	for range 1000 {
		var req *http.Request
		at := b.daemon + "/events?after=" + url.QueryEscape(strconv.FormatUint(after, 10))
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, at, nil); err != nil {
			return out, err
		}
		var res *http.Response
		if res, err = http.DefaultClient.Do(req); err == nil {
			err = json.NewDecoder(res.Body).Decode(&out)
			_ = res.Body.Close()
		}
		if err == nil || !pace.Wait(ctx, 2*time.Millisecond) {
			break
		}
	}
	return out, err
}

func (b *bridge) list(ctx context.Context, in standInAsked) (map[string]any, error) {
	all, err := b.get(ctx, 0)
	out := []any{}
	seen := map[string]bool{}
	for _, e := range slices.Backward(all.Events) {
		if !seen[e.Session] && strings.Contains(e.Session, in.Search) && len(out) < in.Limit {
			seen[e.Session] = true
			out = append(out, map[string]string{"sessionKey": e.Session})
		}
	}
	return map[string]any{"conversations": out}, err
}

func (b *bridge) read(ctx context.Context, in standInAsked) (map[string]any, error) {
	all, err := b.get(ctx, 0)
	these := slices.DeleteFunc(all.Events, func(e caller.Happened) bool { return e.Session != in.Session })
	return map[string]any{"messages": these[max(0, len(these)-in.Limit):]}, err
}

func (b *bridge) poll(ctx context.Context, in standInAsked) (map[string]any, error) {
	after := b.begin
	if in.After != nil {
		after = *in.After
	}
	all, err := b.get(ctx, after)
	if err != nil {
		return nil, err
	}
	next, more := all.Last, false
	if in.Limit < len(all.Events) {
		all.Events, more = all.Events[:in.Limit], true
		next = all.Events[in.Limit-1].Cursor
	}
	at := slices.IndexFunc(all.Events, func(e caller.Happened) bool { return strings.HasPrefix(e.Text, "mk-c-3-3 ") && e.Role == "user" })
	switch {
	case at >= 0 && b.bug == "skip":
		all.Events = slices.Delete(all.Events, at, at+1)
	case at >= 0 && b.bug == "again":
		all.Events = slices.Insert(all.Events, at, all.Events[at])
	}
	return map[string]any{"events": all.Events, "next_cursor": next, "more": more}, nil
}

func (b *bridge) wait(ctx context.Context, in standInAsked) (map[string]any, error) {
	for {
		all, err := b.get(ctx, *in.After)
		if err != nil {
			return nil, err
		}
		if len(all.Events) > 0 {
			return map[string]any{"event": all.Events[0], "next_cursor": all.Events[0].Cursor}, nil
		}
		if !pace.Wait(ctx, 2*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}
