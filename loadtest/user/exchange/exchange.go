// Package exchange is a closed loop of plain turns over HTTP: who sends waits for the answer and sends again. It says what these turns cost,
// and compares two readings that were taken of one run.
package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/figure/window"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// Loop is a closed loop: each of a number of senders sends its next message when it has the answer to the one
// before. Package window says which of them count.
type Loop struct {
	Run        string // in every marker and session name; of [0-9a-z]
	Sessions   int
	PerSession int    // messages until a session is replaced by a new one: conversations do not grow without end
	Text       string // what each message says behind its marker; "" for a question
	Old        string // begins the names of sessions that are there already and are kept; "": PerSession holds
	Warmup     time.Duration
	Duration   time.Duration
	AtOpen     func() // at the end of the warm-up; nil: nothing
	AtShut     func() // at the end of the window; nil: nothing
}

// Outcome is what came of it.
type Outcome struct {
	Took    []time.Duration // of those that began in the window
	Markers []string        // of the same
	Ended   int             // within the window
	All     int             // warm-up included

	PerSecond float64
}

const (
	// ReplyPatience is how long one question for a reply may wait.
	ReplyPatience = 30 * time.Second

	exchangeLimit = time.Minute // a message that waits for longer is stuck
)

// Drive runs the loop; the first exchange that goes wrong ends it.
func (x Loop) Drive(ctx context.Context, c *client.Client) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if x.AtOpen == nil {
		x.AtOpen = func() {}
	}
	if x.AtShut == nil {
		x.AtShut = func() {}
	}
	w := window.New(x.Sessions, x.Warmup, x.Duration)
	all := make([][]turn, x.Sessions)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = x.send(ctx, c, i, w); err != nil {
				cancel(err)
			}
		})
	}
	w.Run(ctx, x.Sessions, x.AtOpen, x.AtShut)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, err
	}
	var sum Outcome
	for _, turns := range all {
		sum.All += len(turns)
		for _, t := range turns {
			if w.Holds(t.end) {
				sum.Ended++
			}
			if w.Holds(t.began) {
				sum.Took = append(sum.Took, t.end.Sub(t.began))
				sum.Markers = append(sum.Markers, t.marker)
			}
		}
	}
	sum.PerSecond = float64(sum.Ended) / w.Elapsed().Seconds()
	return sum, nil
}

// turn is one exchange.
type turn struct {
	marker     string
	began, end time.Time
}

func (x Loop) send(ctx context.Context, c *client.Client, i int, w *window.Window) (out []turn, err error) {
	for n := 0; !w.Shut() && ctx.Err() == nil; n++ {
		t := turn{marker: marker.New(x.Run, i, n), began: time.Now()}
		session := x.Run + "-" + strconv.Itoa(i) + "-" + strconv.Itoa(n/x.PerSession)
		if x.Old != "" {
			session = x.Old + "-" + strconv.Itoa(i)
		}
		msg := client.Message{Session: session, Text: t.marker + " " + cmp.Or(x.Text, "what do you hear?"), Key: t.marker}
		if err := One(ctx, c, msg, t.marker); err != nil {
			return out, err
		}
		t.end = time.Now()
		w.Ended(i)
		out = append(out, t)
	}
	return out, nil
}

// One is one whole turn as a client sees it: the message posted, the reply awaited and checked.
func One(ctx context.Context, c *client.Client, msg client.Message, m string) error {
	a, err := c.Send(ctx, msg)
	for s := (*client.StatusError)(nil); errors.As(err, &s) && s.Status == http.StatusTooManyRequests && pace.Wait(ctx, pace.RetryMin); {
		a, err = c.Send(ctx, msg) // as the answer says
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", m, err)
	}
	for began := time.Now(); ; {
		r, err := c.Wait(ctx, a.ID, ReplyPatience)
		switch {
		case err != nil:
			return fmt.Errorf("reply to %s: %w", m, err)
		case r.Status == "pending" && time.Since(began) > exchangeLimit:
			return fmt.Errorf("reply to %s: none within %s", m, exchangeLimit)
		case r.Status == "pending":
			continue
		case r.Status != "completed" || !strings.Contains(r.Text, m+" "):
			return fmt.Errorf("reply to %s: %s %q", m, r.Status, r.Text)
		}
		return nil
	}
}

// NowText has the fake model call a tool that does next to nothing, so that what is measured is the way there and back.
const NowText = "!tool now {} what do you hear?"
