package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/marker"
)

// exchanges is a closed loop: each of a number of senders sends its next message when it has the answer to the one
// before. What begins in the warm-up does not count.
type exchanges struct {
	Run        string // in every marker and session name; of [0-9a-z]
	Sessions   int
	PerSession int // messages until a session is replaced by a new one: conversations do not grow without end
	Warmup     time.Duration
	Duration   time.Duration
	AtOpen     func() // at the end of the warm-up
	AtShut     func() // at the end of the window
}

// exchanged is what came of it.
type exchanged struct {
	Took    []time.Duration // of those that began in the window
	Markers []string        // of the same
	Ended   int             // within the window
	All     int             // warm-up included
}

const replyPatience = 30 * time.Second

// drive runs the loop; the first exchange that goes wrong ends it.
func (x exchanges) drive(ctx context.Context, c *client.Client) (exchanged, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	open := time.Now().Add(x.Warmup)
	shut := open.Add(x.Duration)
	all := make([]exchanged, x.Sessions)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = x.send(ctx, c, i, open, shut); err != nil {
				cancel(err)
			}
		})
	}
	for _, at := range []struct {
		time time.Time
		call func()
	}{{open, x.AtOpen}, {shut, x.AtShut}} {
		if wait(ctx, time.Until(at.time)) && at.call != nil {
			at.call()
		}
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return exchanged{}, err
	}
	var sum exchanged
	for _, e := range all {
		sum.Took = append(sum.Took, e.Took...)
		sum.Markers = append(sum.Markers, e.Markers...)
		sum.Ended += e.Ended
		sum.All += e.All
	}
	return sum, nil
}

func (x exchanges) send(ctx context.Context, c *client.Client, i int, open, shut time.Time) (out exchanged, err error) {
	for n := 0; ; n++ {
		began := time.Now()
		if !began.Before(shut) {
			return out, nil
		}
		m := marker.New(x.Run, i, n)
		session := x.Run + "-" + strconv.Itoa(i) + "-" + strconv.Itoa(n/x.PerSession)
		if err := exchange(ctx, c, client.Message{Session: session, Text: m + " what do you hear?", Key: m}, m); err != nil {
			return out, err
		}
		end := time.Now()
		out.All++
		if end.After(open) && end.Before(shut) {
			out.Ended++
		}
		if began.After(open) {
			out.Took = append(out.Took, end.Sub(began))
			out.Markers = append(out.Markers, m)
		}
	}
}

// exchange is one whole turn as a client sees it: the message posted, the reply awaited and checked.
func exchange(ctx context.Context, c *client.Client, msg client.Message, m string) error {
	a, err := c.Send(ctx, msg)
	if err != nil {
		return fmt.Errorf("send %s: %w", m, err)
	}
	for {
		r, err := c.Wait(ctx, a.ID, replyPatience)
		switch {
		case err != nil:
			return fmt.Errorf("reply to %s: %w", m, err)
		case r.Status == "pending":
			continue
		case r.Status != "completed" || !strings.Contains(r.Text, m+" "):
			return fmt.Errorf("reply to %s: %s %q", m, r.Status, r.Text)
		}
		return nil
	}
}

// wait is false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
