package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/marker"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// crowd is many senders that do not mind a daemon that dies: each posts a message under its key until it has a 202, one
// after the other within a session, and each accepted message is asked for until its reply is final.
type crowd struct {
	o      killOptions
	client *client.Client
	run    string

	sending context.Context    //nolint:containedctx // ends when no new message is to begin
	stop    context.CancelFunc // of sending
	working context.Context    //nolint:containedctx // ends when everything has to end
	quit    context.CancelFunc // of working
	senders sync.WaitGroup
	waiters sync.WaitGroup

	accepted, answered, early, again atomic.Int64

	mu       sync.Mutex
	messages []*judge.Message  // guarded by mu; in the order of their 202 within a session
	found    []judge.Violation // guarded by mu; what a sender saw himself
}

const (
	waitPatience = 10 * time.Second
	retryMin     = 10 * time.Millisecond
	retryMore    = 40 * time.Millisecond
	pauseMax     = 30 * time.Millisecond
	againShare   = 0.05 // of accepted messages are posted once more under the same key
)

func newCrowd(ctx context.Context, o killOptions, c *client.Client, run string) *crowd {
	w := &crowd{o: o, client: c, run: run}
	w.working, w.quit = context.WithCancel(ctx)
	w.sending, w.stop = context.WithCancel(w.working)
	for i := range o.sessions {
		w.senders.Go(func() { w.send(i) })
	}
	return w
}

func (w *crowd) stopSending() { w.stop() }

// finish waits for all replies, at most until the deadline.
func (w *crowd) finish(deadline time.Time) {
	t := time.AfterFunc(time.Until(deadline), w.quit)
	defer t.Stop()
	w.senders.Wait()
	w.waiters.Wait()
	w.quit()
	w.client.Close()
}

func (w *crowd) abort() {
	w.quit()
	w.finish(time.Now())
}

func (w *crowd) completed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range w.messages {
		if m.Status == "completed" {
			n++
		}
	}
	return n
}

func (w *crowd) say(k judge.Kind, s session.ID, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, judge.Violation{Kind: k, Session: s, Text: fmt.Sprintf(format, args...)})
}

// send is one sender; its sessions follow one another.
func (w *crowd) send(i int) {
	rnd := rand.New(rand.NewPCG(w.o.seed, uint64(i)+2))
	slots := make(chan struct{}, w.o.window)
	for n := 0; w.sending.Err() == nil; n++ {
		select {
		case slots <- struct{}{}:
		case <-w.sending.Done():
			return
		}
		name := w.run + "-" + strconv.Itoa(i) + "-" + strconv.Itoa(n/w.o.perSession)
		m := marker.New(w.run, i, n)
		msg := client.Message{Session: name, Key: m, Text: m + " " + strings.Repeat("la ", rnd.IntN(60))}
		a, ok := w.post(msg, rnd)
		if !ok {
			return
		}
		_, id, _ := strings.Cut(a.ID, "~")
		rec := &judge.Message{Session: session.ID(a.Session), ID: id, Key: m, Marker: m}
		w.mu.Lock()
		w.messages = append(w.messages, rec)
		w.mu.Unlock()
		w.accepted.Add(1)
		repeat := rnd.Float64() < againShare
		w.waiters.Go(func() {
			defer func() { <-slots }()
			w.await(rec, a)
		})
		if repeat {
			b, ok := w.post(msg, rnd)
			if ok && b.ID != a.ID {
				w.say(judge.Doubled, rec.Session, "key %s was accepted as %s and again as %s", m, a.ID, b.ID)
			}
			w.again.Add(1)
		}
		wait(w.sending, time.Duration(rnd.Int64N(int64(pauseMax))))
	}
}

// post goes on until the message is accepted; false when there is no time left, or no hope.
func (w *crowd) post(m client.Message, rnd *rand.Rand) (client.Accepted, bool) {
	for {
		a, err := w.client.Send(w.working, m)
		if err == nil {
			return a, true
		}
		if hopeless(err) {
			w.say(judge.Wrong, "", "%s was refused: %v", m.Key, err)
			return client.Accepted{}, false
		}
		if !wait(w.working, retryMin+time.Duration(rnd.Int64N(int64(retryMore)))) {
			return client.Accepted{}, false
		}
	}
}

// await asks until the reply is final.
func (w *crowd) await(rec *judge.Message, a client.Accepted) {
	for {
		r, err := w.client.Wait(w.working, a.ID, waitPatience)
		switch {
		case err == nil && r.Final():
			w.mu.Lock()
			rec.Status, rec.Text = r.Status, r.Text
			w.mu.Unlock()
			w.answered.Add(1)
			return
		case err != nil && hopeless(err):
			w.say(judge.Lost, rec.Session, "the reply to %s, accepted as %s: %v", rec.Marker, a.ID, err)
			return
		case err == nil: // pending: at once again
			continue
		}
		if !wait(w.working, retryMin) {
			return
		}
	}
}

// hopeless: an answer that would be the same the next time.
func hopeless(err error) bool {
	var s *client.StatusError
	return errors.As(err, &s) && s.Status < 500 && s.Status != http.StatusTooManyRequests && s.Status != http.StatusRequestTimeout
}
