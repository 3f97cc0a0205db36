package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// caughtUp is a client that polls while the daemon is killed and started again, and then is told of messages.
type caughtUp struct {
	Messages int           `json:"messages"`
	Told     int           `json:"told"`
	Wrong    []string      `json:"wrong"` // what was not told, or twice, or out of order
	Polls    int           `json:"polls"`
	Failed   int           `json:"polls_failed"` // and asked again
	Slowest  time.Duration `json:"slowest_poll_ns"`
	Ready    time.Duration `json:"ready_ns"` // of the next daemon
	Took     time.Duration `json:"took_ns"`  // first message sent to the last one told
}

const (
	lateSessions = 16
	emptyPoll    = 20 * time.Millisecond // after a poll that has nothing, or fails
	catchUpTime  = 2 * time.Minute
)

// follower polls on from a cursor, as a client does.
type follower struct {
	s     *mcp.ClientSession
	after uint64

	told    []caller.Happened // messages of people
	gaps    []string
	polls   int
	failed  int
	slowest time.Duration
	last    time.Time // when it was told of a message
}

// follow polls until all is told that was there when finished was closed.
func (f *follower) follow(ctx context.Context, finished <-chan struct{}) error {
	for {
		last := false
		select {
		case <-finished:
			last = true
		default:
		}
		began := time.Now()
		p, err := caller.Answer[caller.Polled](ctx, f.s, caller.PollTool, caller.Arguments{
			"after_cursor": f.after, "limit": caller.PollMost, "types": []string{caller.MessageType},
		})
		f.polls++
		f.slowest = max(f.slowest, time.Since(began))
		if err != nil {
			f.failed++
			if !pace.Wait(ctx, emptyPoll) {
				return errors.Join(context.Cause(ctx), err)
			}
			continue
		}
		f.take(p)
		switch {
		case p.More:
		case last:
			return nil
		case len(p.Events) == 0:
			pace.Wait(ctx, emptyPoll)
		}
	}
}

func (f *follower) take(p caller.Polled) {
	if len(p.Gap) > 0 {
		f.gaps = append(f.gaps, fmt.Sprintf("a gap behind cursor %d: %s", f.after, p.Gap))
	}
	f.after = p.Next
	for _, e := range p.Events {
		if e.Role == "user" {
			f.told, f.last = append(f.told, e), time.Now()
		}
	}
}

func (x *bridged) catchUp(ctx context.Context, r *report) error {
	ctx, cancel := context.WithTimeoutCause(ctx, catchUpTime, errors.New("it had its time"))
	defer cancel()
	c, err := x.mcp.OverStdio(ctx)
	if err != nil {
		return err
	}
	defer c.Server.Kill()
	x.P.Note("kill -9 of the daemon, then %d messages", x.f.catchUp)
	f := &follower{s: c.ClientSession}
	if f.after, err = x.mcp.Reach(ctx, c.ClientSession); err != nil {
		return err
	}
	finished := make(chan struct{})
	var polling sync.WaitGroup
	var failed error
	polling.Go(func() { failed = f.follow(ctx, finished) })
	out, sent, err := x.late(ctx)
	if err != nil {
		cancel()
	}
	close(finished)
	polling.Wait()
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	out.Told, out.Polls, out.Failed, out.Slowest = len(f.told), f.polls, f.failed, f.slowest
	out.Took = f.last.Sub(out.began)
	out.Wrong = slices.Concat(f.gaps, judgeTold(sent, f.told))
	r.CatchUp = &out.caughtUp
	for _, w := range out.Wrong {
		x.P.Note("%s", w)
	}
	return c.End()
}

// late is what came of the messages after a kill.
type late struct {
	caughtUp

	began time.Time
}

// said is a message and where it is in the journal.
type said struct {
	marker string
	cursor uint64
}

// late kills the daemon, starts another one on the home, and sends it messages; all have their answers when it returns.
func (x *bridged) late(ctx context.Context) (out late, sent []said, err error) {
	x.d.Kill()
	x.cl.Close()
	d, err := x.Start(ctx, x.home)
	if err != nil {
		return out, nil, err
	}
	x.d = d
	out.Ready, out.Messages = d.ReadyAfter, x.f.catchUp
	out.began = time.Now()
	var mu sync.Mutex
	var accepted []client.Accepted
	err = pace.Crews(ctx, x.f.catchUp, lateSessions, func(ctx context.Context, i int) error {
		m := marker.New("c", i%lateSessions, i)
		a, err := x.cl.Send(ctx, client.Message{Session: fmt.Sprintf("late-%d", i%lateSessions), Key: m, Text: m + " did you get this?"})
		if err != nil {
			return fmt.Errorf("send %s: %w", m, err)
		}
		mu.Lock()
		defer mu.Unlock()
		accepted, sent = append(accepted, a), append(sent, said{m, a.Cursor})
		return nil
	})
	for _, a := range accepted {
		if err == nil {
			err = x.completed(ctx, a)
		}
	}
	return out, sent, err
}

// judgeTold says what of the messages that were sent was not told, or twice, or out of the journal's order, or was never sent.
func judgeTold(sent []said, told []caller.Happened) (wrong []string) {
	slices.SortFunc(sent, func(a, b said) int { return cmp.Compare(a.cursor, b.cursor) })
	want, seen := map[uint64]string{}, map[uint64]int{}
	for _, s := range sent {
		want[s.cursor] = s.marker
	}
	before := uint64(0)
	for _, e := range told {
		m, known := want[e.Cursor]
		switch seen[e.Cursor]++; {
		case !known:
			wrong = append(wrong, fmt.Sprintf("told of a message that nobody has sent: %d %.80q", e.Cursor, e.Text))
		case seen[e.Cursor] > 1:
			wrong = append(wrong, fmt.Sprintf("told %d times: %d %s", seen[e.Cursor], e.Cursor, m))
		case marker.First(e.Text) != m:
			wrong = append(wrong, fmt.Sprintf("told something else: %d %.80q, want %s", e.Cursor, e.Text, m))
		case e.Cursor < before:
			wrong = append(wrong, fmt.Sprintf("told out of order: %d %s after %d", e.Cursor, m, before))
		}
		before = max(before, e.Cursor)
	}
	for _, s := range sent {
		if seen[s.cursor] == 0 {
			wrong = append(wrong, fmt.Sprintf("not told: %d %s", s.cursor, s.marker))
		}
	}
	return wrong
}
