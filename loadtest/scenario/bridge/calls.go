package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// callCost is one call over stdio, beside a call of a bare server of the SDK whose result is as large.
type callCost struct {
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
func (x *bridged) load(ctx context.Context, r *report) (err error) {
	c, err := x.mcp.OverStdio(ctx)
	if err != nil {
		return err
	}
	defer c.Server.Kill()
	bare, err := caller.BareStdio(ctx)
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
	pace.Wait(ctx, x.f.calm)
	if r.RSS, err = c.Server.RSS(); err != nil {
		return err
	}
	return c.End()
}

// asked is a call that is measured.
type asked struct {
	name string
	tool string
	args caller.Arguments
	want int // entries of the answer
}

// asked has a page of events in the server's memory: those before it has begun lie in the journal only.
func (x *bridged) asked(ctx context.Context, s *mcp.ClientSession) ([]asked, error) {
	begin, err := x.mcp.Reach(ctx, s)
	if err != nil {
		return nil, err
	}
	// Two events of a turn are told.
	f := exchange.Filling{Run: "m", Sessions: exchange.Names("recent", 10), Each: caller.PollMost/20 + 1, Parallel: 10, Text: exchange.HistoryText(120)}
	if err := f.Fill(ctx, x.cl); err != nil {
		return nil, err
	}
	end, err := x.mcp.Reach(ctx, s)
	if err != nil {
		return nil, err
	}
	all := x.f.sessions + 11
	long, err := indexed(ctx, s, min(listMost, all))
	if err != nil {
		return nil, err
	}
	return []asked{
		{caller.ListTool + ", 50", caller.ListTool, caller.Arguments{"limit": 50}, min(50, all)},
		{caller.ListTool + ", 500", caller.ListTool, caller.Arguments{"limit": listMost}, min(listMost, all)},
		{caller.ReadTool + ", 20", caller.ReadTool, caller.Arguments{"session_key": long, "limit": 20}, 20},
		{caller.PollTool + ", 200 from 0", caller.PollTool, caller.Arguments{"after_cursor": 0, "limit": caller.PollMost}, caller.PollMost},
		{caller.PollTool + ", 200 of the last", caller.PollTool, caller.Arguments{"after_cursor": begin, "limit": caller.PollMost}, caller.PollMost},
		{caller.PollTool + ", from the end", caller.PollTool, caller.Arguments{"after_cursor": end, "limit": caller.PollMost}, 0},
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
		all, err := caller.Answer[listed](ctx, s, caller.ListTool, caller.Arguments{"limit": listMost})
		if err != nil {
			return "", err
		}
		long, err := caller.Answer[listed](ctx, s, caller.ListTool, caller.Arguments{"search": longSession, "limit": 1})
		if err != nil {
			return "", err
		}
		if len(all.Conversations) == most && len(long.Conversations) == 1 {
			return long.Conversations[0].Session, nil
		}
		if time.Since(began) > indexPatience || !pace.Wait(ctx, indexPoll) {
			return "", fmt.Errorf("%s has %d conversations, want %d, and %d of %q, want 1", caller.ListTool, len(all.Conversations), most,
				len(long.Conversations), longSession)
		}
	}
}

func (x *bridged) calls(ctx context.Context, c *caller.Stdio, bare *mcp.ClientSession) ([]callCost, error) {
	calls, err := x.asked(ctx, c.ClientSession)
	if err != nil {
		return nil, err
	}
	all := make([][]callCost, len(calls))
	for round := range x.f.Rounds {
		x.P.Note("round %d of %d: calls over stdio", round+1, x.f.Rounds)
		for i, a := range calls {
			one, err := a.measure(ctx, c, bare, x.f.Timing, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
			all[i] = append(all[i], one)
		}
	}
	return stat.Each(all, medianCall), nil
}

// measure is one round of a call and its floor. Which comes first changes from round to round.
func (a asked) measure(ctx context.Context, c *caller.Stdio, bare *mcp.ClientSession, t bench.Timing, round int) (out callCost, err error) {
	out.Call = a.name
	r, err := caller.Call(ctx, c.ClientSession, a.tool, a.args)
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
			before, err := c.Server.CPU()
			if err != nil {
				return err
			}
			n := 0
			took, err := peer.Timed(t, func() error {
				n++
				_, err := caller.Call(ctx, c.ClientSession, a.tool, a.args)
				return err
			})
			if err != nil {
				return err
			}
			after, err := c.Server.CPU()
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
func bareOf(ctx context.Context, bare *mcp.ClientSession, bytes int, t bench.Timing) (stat.Spread, error) {
	frame, err := sizeOf(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}}})
	if err != nil {
		return stat.Spread{}, err
	}
	took, err := peer.Timed(t, func() error {
		_, err := caller.Call(ctx, bare, fakemcp.Big, caller.Arguments{"bytes": max(0, bytes-frame)})
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
func medianCall(rounds []callCost) callCost {
	return callCost{
		Call:     rounds[0].Call,
		Bytes:    stat.Median(stat.Each(rounds, func(c callCost) int { return c.Bytes })),
		Took:     stat.MedianSpread(stat.Each(rounds, func(c callCost) stat.Spread { return c.Took })),
		Floor:    stat.MedianSpread(stat.Each(rounds, func(c callCost) stat.Spread { return c.Floor })),
		Ratio:    stat.Median(stat.Each(rounds, func(c callCost) float64 { return c.Ratio })),
		RatioP99: stat.Median(stat.Each(rounds, func(c callCost) float64 { return c.RatioP99 })),
		CPU:      stat.Median(stat.Each(rounds, func(c callCost) time.Duration { return c.CPU })),
	}
}
