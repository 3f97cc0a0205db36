package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/stat"
)

// bridgeCall is one call over stdio, beside a call of a bare server of the SDK whose result is as large.
type bridgeCall struct {
	Call     string      `json:"call"`
	Bytes    int         `json:"result_bytes"`
	Took     stat.Spread `json:"took"`
	Floor    stat.Spread `json:"floor_sdk"`
	Ratio    float64     `json:"floor_p50"`
	RatioP99 float64     `json:"floor_p99"`
	// CPU of the server, a call: the daemon's own is not in it.
	CPU time.Duration `json:"cpu_ns"`
}

// load measures calls and waits over stdio and HTTP, and the memory of the server that has had most of it.
func (x *bridged) load(ctx context.Context, r *bridgeReport) (err error) {
	c, err := x.mcp.overStdio(ctx)
	if err != nil {
		return err
	}
	defer c.server.Kill()
	bare, err := bareStdio(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = bare.Close() }() // it says how the process ended
	if r.Calls, err = x.calls(ctx, c, bare); err != nil {
		return err
	}
	if x.f.waits > 0 {
		if err := x.waitAll(ctx, c, bare); err != nil {
			return err
		}
	}
	wait(ctx, x.f.calm)
	if r.RSS, err = c.server.RSS(); err != nil {
		return err
	}
	return c.end()
}

// asked is a call that is measured.
type asked struct {
	name string
	tool string
	args arguments
	want int // entries of the answer
}

// asked has a page of events in the server's memory: those before it has begun lie in the journal only.
func (x *bridged) asked(ctx context.Context, s *mcp.ClientSession) ([]asked, error) {
	begin, err := x.mcp.reach(ctx, s)
	if err != nil {
		return nil, err
	}
	// Two events of a turn are told.
	f := filling{Run: "m", Sessions: names("recent", 10), Each: pollMost/20 + 1, Parallel: 10, Text: historyText(120)}
	if err := f.fill(ctx, x.cl); err != nil {
		return nil, err
	}
	end, err := x.mcp.reach(ctx, s)
	if err != nil {
		return nil, err
	}
	all := x.f.sessions + 11
	long, err := indexed(ctx, s, min(listMost, all))
	if err != nil {
		return nil, err
	}
	return []asked{
		{listTool + ", 50", listTool, arguments{"limit": 50}, min(50, all)},
		{listTool + ", 500", listTool, arguments{"limit": listMost}, min(listMost, all)},
		{readTool + ", 20", readTool, arguments{"session_key": long, "limit": 20}, 20},
		{pollTool + ", 200 from 0", pollTool, arguments{"after_cursor": 0, "limit": pollMost}, pollMost},
		{pollTool + ", 200 of the last", pollTool, arguments{"after_cursor": begin, "limit": pollMost}, pollMost},
		{pollTool + ", from the end", pollTool, arguments{"after_cursor": end, "limit": pollMost}, 0},
	}, nil
}

const (
	listMost      = 500
	indexPatience = 2 * time.Minute
	indexPoll     = 50 * time.Millisecond
)

// indexed waits until the daemon's index of conversations has all of them: it is built beside everything else. It is the key of the
// long one.
func indexed(ctx context.Context, s *mcp.ClientSession, most int) (string, error) {
	type listed struct {
		Conversations []struct {
			Session string `json:"sessionKey"`
		} `json:"conversations"`
	}
	for began := time.Now(); ; {
		all, err := answer[listed](ctx, s, listTool, arguments{"limit": listMost})
		if err != nil {
			return "", err
		}
		long, err := answer[listed](ctx, s, listTool, arguments{"search": longSession, "limit": 1})
		if err != nil {
			return "", err
		}
		if len(all.Conversations) == most && len(long.Conversations) == 1 {
			return long.Conversations[0].Session, nil
		}
		if time.Since(began) > indexPatience || !wait(ctx, indexPoll) {
			return "", fmt.Errorf("%s has %d conversations, want %d, and %d of %q, want 1", listTool, len(all.Conversations), most,
				len(long.Conversations), longSession)
		}
	}
}

func (x *bridged) calls(ctx context.Context, c *stdioClient, bare *mcp.ClientSession) ([]bridgeCall, error) {
	calls, err := x.asked(ctx, c.ClientSession)
	if err != nil {
		return nil, err
	}
	all := make([][]bridgeCall, len(calls))
	for round := range x.f.rounds {
		x.p.note("round %d of %d: calls over stdio", round+1, x.f.rounds)
		for i, a := range calls {
			one, err := a.measure(ctx, c, bare, x.f.timing, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
			all[i] = append(all[i], one)
		}
	}
	return each(all, medianCall), nil
}

// measure is one round of a call and its floor. Which comes first changes from round to round.
func (a asked) measure(ctx context.Context, c *stdioClient, bare *mcp.ClientSession, t timing, round int) (out bridgeCall, err error) {
	out.Call = a.name
	r, err := call(ctx, c.ClientSession, a.tool, a.args)
	if err != nil {
		return out, err
	}
	if n := entries(r); n != a.want {
		return out, fmt.Errorf("the answer has %d entries, want %d", n, a.want)
	}
	if out.Bytes, err = sizeOf(r); err != nil {
		return out, err
	}
	both := []func() error{
		func() error {
			before, err := c.server.CPU()
			if err != nil {
				return err
			}
			n := 0
			took, err := timed(t, func() error {
				n++
				_, err := call(ctx, c.ClientSession, a.tool, a.args)
				return err
			})
			if err != nil {
				return err
			}
			after, err := c.server.CPU()
			out.Took, out.CPU = stat.SpreadOf(took), (after-before)/time.Duration(n)
			return err
		},
		func() (err error) {
			out.Floor, err = bareOf(ctx, bare, out.Bytes, t)
			return err
		},
	}
	if round%2 == 1 {
		slices.Reverse(both)
	}
	for _, measure := range both {
		if err := measure(); err != nil {
			return out, err
		}
	}
	out.Ratio, out.RatioP99 = stat.Ratio(out.Took.P50, out.Floor.P50), stat.Ratio(out.Took.P99, out.Floor.P99)
	return out, nil
}

// bareOf calls a bare server for a result of a size.
func bareOf(ctx context.Context, bare *mcp.ClientSession, bytes int, t timing) (stat.Spread, error) {
	frame, err := sizeOf(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}}})
	if err != nil {
		return stat.Spread{}, err
	}
	took, err := timed(t, func() error {
		_, err := call(ctx, bare, fakemcp.Big, arguments{"bytes": max(0, bytes-frame)})
		return err
	})
	return stat.SpreadOf(took), err
}

// sizeOf is how long a result is on the wire.
func sizeOf(r *mcp.CallToolResult) (int, error) {
	b, err := json.Marshal(r)
	return len(b), err
}

// entries counts what an answer lists; -1: it lists nothing.
func entries(r *mcp.CallToolResult) int {
	m, _ := r.StructuredContent.(map[string]any)
	for _, name := range []string{"conversations", "messages", "events"} {
		if list, ok := m[name].([]any); ok {
			return len(list)
		}
	}
	return -1
}

// medianCall takes each figure's median over several rounds; the ratios are those of the rounds' own.
func medianCall(rounds []bridgeCall) bridgeCall {
	return bridgeCall{
		Call:     rounds[0].Call,
		Bytes:    stat.Median(each(rounds, func(c bridgeCall) int { return c.Bytes })),
		Took:     stat.MedianSpread(each(rounds, func(c bridgeCall) stat.Spread { return c.Took })),
		Floor:    stat.MedianSpread(each(rounds, func(c bridgeCall) stat.Spread { return c.Floor })),
		Ratio:    stat.Median(each(rounds, func(c bridgeCall) float64 { return c.Ratio })),
		RatioP99: stat.Median(each(rounds, func(c bridgeCall) float64 { return c.RatioP99 })),
		CPU:      stat.Median(each(rounds, func(c bridgeCall) time.Duration { return c.CPU })),
	}
}
