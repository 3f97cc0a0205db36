package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// muteCost is a server with a client that has asked for much and reads nothing.
type muteCost struct {
	Transport string        `json:"transport"`
	Asked     int           `json:"asked"` // pages of events that it has asked for, beside being told of each message
	Events    uint64        `json:"events"`
	RSS       int64         `json:"rss_bytes"`
	Peak      int64         `json:"rss_peak_bytes"`
	After     int64         `json:"rss_after_bytes"` // at rest; the client still reads nothing
	Ended     time.Duration `json:"ended_ns"`        // from the end of stdin or SIGTERM to that of the server
	Killed    bool          `json:"killed"`          // it did not end by itself
}

const (
	muteSessions = 64
	muteEnd      = 10 * time.Second // of a server whose client reads nothing
	mutePoll     = 50 * time.Millisecond
	smallBuffer  = 4096 // bytes that the system may take in for a client over HTTP
)

func (x *bridged) mutes(ctx context.Context, r *report) error {
	f := exchange.Filling{Run: "q", Sessions: exchange.Names("mute", muteSessions), Each: 1, Parallel: muteSessions, Text: exchange.HistoryText(200)}
	if err := f.Fill(ctx, x.cl); err != nil {
		return err
	}
	for _, part := range []struct {
		transport string
		mute      func(context.Context, *muteCost) error
	}{{peer.OverStdio, x.muteStdio}, {peer.OverHTTP, x.muteHTTP}} {
		x.P.Note("%d events, and a client over %s that reads nothing", x.f.events, part.transport)
		m := muteCost{Transport: part.transport, Asked: x.f.unread}
		if err := part.mute(ctx, &m); err != nil {
			return fmt.Errorf("over %s: %w", part.transport, err)
		}
		r.Mute = append(r.Mute, m)
	}
	return nil
}

// rpc is one message of a client.
func rpc(id int, method string, params any) ([]byte, error) {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	if id > 0 {
		m["id"] = id
	}
	return json.Marshal(m)
}

var hello = caller.Arguments{
	"protocolVersion": caller.SessionEra, "capabilities": caller.Arguments{}, "clientInfo": caller.Arguments{"name": "mute", "version": "1"},
}

func pollCall(id int) ([]byte, error) {
	return rpc(id, "tools/call", caller.Arguments{"name": caller.PollTool, "arguments": caller.Arguments{"after_cursor": 0, "limit": caller.PollMost}})
}

// muteStdio has a client that every message of a person is pushed to.
func (x *bridged) muteStdio(ctx context.Context, m *muteCost) error {
	s, err := daemon.ServeStdio(x.Binary, x.home, "--claude-channel-mode", "on")
	if err != nil {
		return err
	}
	defer s.Kill()
	say := func(line []byte, err error) error {
		if err == nil {
			_, err = s.In.Write(append(line, '\n'))
		}
		return err
	}
	if err := say(rpc(1, "initialize", hello)); err != nil {
		return err
	}
	// The server speaks first in answer to a request: nothing is lost in this buffer.
	if _, err := bufio.NewReader(s.Out).ReadBytes('\n'); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if err := say(rpc(0, "notifications/initialized", nil)); err != nil {
		return err
	}
	if m.RSS, err = s.RSS(); err != nil {
		return err
	}
	for i := range m.Asked {
		if err := say(pollCall(2 + i)); err != nil {
			return err
		}
	}
	if err := x.busy(ctx, s, m); err != nil {
		return err
	}
	began := time.Now()
	m.Killed = s.End(muteEnd) != nil
	m.Ended = time.Since(began)
	return nil
}

// muteHTTP has a client that has subscribed to all conversations in which something happens.
func (x *bridged) muteHTTP(ctx context.Context, m *muteCost) error {
	s, w, err := x.mcp.OverHTTP(ctx)
	if err != nil {
		return err
	}
	defer s.Kill()
	id, err := subscriber(ctx, w, exchange.Names("mute", muteSessions))
	if err != nil {
		return err
	}
	if m.RSS, err = s.RSS(); err != nil {
		return err
	}
	requests := []*http.Request{}
	stream, err := request(ctx, w, http.MethodGet, id, nil)
	if err != nil {
		return err
	}
	requests = append(requests, stream)
	for i := range m.Asked {
		body, err := pollCall(1000 + i)
		if err != nil {
			return err
		}
		r, err := request(ctx, w, http.MethodPost, id, body)
		if err != nil {
			return err
		}
		requests = append(requests, r)
	}
	for _, r := range requests {
		conn, err := unread(ctx, r)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
	}
	if err := x.busy(ctx, s, m); err != nil {
		return err
	}
	began := time.Now()
	m.Killed = s.Stop(muteEnd) != nil
	m.Ended = time.Since(began)
	return nil
}

// request is one of a session.
func request(ctx context.Context, w caller.Web, method, id string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	r.Header.Set("Mcp-Protocol-Version", caller.SessionEra)
	if id != "" {
		r.Header.Set("Mcp-Session-Id", id)
	}
	r.Header.Set("Authorization", "Bearer "+w.Token)
	return r, nil
}

// subscriber opens a session that is told of what happens in conversations.
func subscriber(ctx context.Context, w caller.Web, conversations []string) (id string, err error) {
	post := func(body []byte, err error) error {
		if err != nil {
			return err
		}
		r, err := request(ctx, w, http.MethodPost, id, body)
		if err != nil {
			return err
		}
		res, err := w.HTTP.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		said, err := io.ReadAll(res.Body)
		if err == nil && (res.StatusCode/100 != 2 || bytes.Contains(said, []byte(`"error"`))) {
			err = fmt.Errorf("%s: %.500s", res.Status, said)
		}
		if id == "" {
			id = res.Header.Get("Mcp-Session-Id")
		}
		return err
	}
	if err := errors.Join(post(rpc(1, "initialize", hello)), post(rpc(0, "notifications/initialized", nil))); err != nil {
		return "", err
	}
	for i, name := range conversations {
		s, err := session.New("main", "http", "default", name)
		if err != nil {
			return "", err
		}
		if err := post(rpc(2+i, "resources/subscribe", caller.Arguments{"uri": "jetclaw://conversations/" + url.QueryEscape(string(s))})); err != nil {
			return "", fmt.Errorf("subscribe to %s: %w", s, err)
		}
	}
	return id, nil
}

// unread sends a request on a connection of its own, from which nobody reads.
func unread(ctx context.Context, r *http.Request) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	if c, ok := conn.(*net.TCPConn); ok {
		err = c.SetReadBuffer(smallBuffer)
	}
	if err == nil {
		err = r.Write(conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// busy has events happen, and looks at a server's memory meanwhile and when it has come to rest.
func (x *bridged) busy(ctx context.Context, s *daemon.Served, m *muteCost) (err error) {
	looking, stop := context.WithCancel(ctx)
	var look sync.WaitGroup
	var failed error
	look.Go(func() {
		for pace.Wait(looking, mutePoll) && failed == nil {
			var now int64
			now, failed = s.RSS()
			m.Peak = max(m.Peak, now)
		}
	})
	m.Events, err = x.happen(ctx, m.Transport, uint64(x.f.events))
	pace.Wait(ctx, x.f.calm)
	stop()
	look.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	m.After, err = s.RSS()
	m.Peak = max(m.Peak, m.After)
	return err
}

// happen has people talk until the journal has so many events more.
func (x *bridged) happen(ctx context.Context, run string, events uint64) (uint64, error) {
	var first uint64
	for pass := 0; ; pass++ {
		mk := marker.New("e"+run, pass, 0)
		a, err := x.cl.Send(ctx, client.Message{Session: "mute-0", Key: mk, Text: mk + " go on"})
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = a.Cursor
		}
		if n := a.Cursor - first; n >= events {
			return n, x.completed(ctx, a)
		}
		f := exchange.Filling{
			Run: fmt.Sprintf("f%s%d", run, pass), Sessions: exchange.Names("mute", muteSessions), Each: 2, Parallel: muteSessions,
			Text: exchange.HistoryText(200),
		}
		if err := f.Fill(ctx, x.cl); err != nil {
			return 0, err
		}
	}
}
