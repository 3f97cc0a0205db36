// Package crowd is many senders over HTTP that do not mind a daemon that dies, each in a role: some only talk, others steer, interrupt, stop,
// or have tools called. What they have seen is evidence for package judge.
package crowd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Crowd is many senders that do not mind a daemon that dies: each posts a message under its key until it has a 202, one
// after the other within a session, and each accepted message is asked for until its reply is final. Commands are sent in
// the same way, and in the same order.
type Crowd struct {
	o      Options
	seed   uint64
	roles  []role // of the senders, in turn
	client Door
	run    string

	sending context.Context    //nolint:containedctx // ends when no new message is to begin
	stop    context.CancelFunc // of sending
	working context.Context    //nolint:containedctx // ends when everything has to end
	quit    context.CancelFunc // of working
	senders sync.WaitGroup
	waiters sync.WaitGroup

	Stops chan struct{} // tells of a stop that is about to be sent; lossy

	Accepted, Answered atomic.Int64 // messages
	Again              atomic.Int64 // keys that were posted again after their 202
	longest            atomic.Int64 // nanoseconds from a 202 to the reply

	// Guarded by mu until Finish has returned.
	mu       sync.Mutex
	Messages []*judge.Message // in the order of their 202 within a session
	commands []*judge.Command
	Played   map[session.ID]*Play
	Found    []judge.Violation // what a sender saw himself
}

// Play is one session and who writes in it.
type Play struct {
	name   string
	sender int
	Role   string // its name
	Last   bool   // it answered after all kills
}

// Door is a way in: one daemon's, or several that are the same to who sends.
type Door interface {
	Send(ctx context.Context, m client.Message) (client.Accepted, error)
	Wait(ctx context.Context, id string, patience time.Duration) (client.Reply, error)
	Close()
}

const (
	waitPatience = 10 * time.Second
	retryMore    = 40 * time.Millisecond
	pauseMax     = 30 * time.Millisecond
	lastNumber   = 1_000_000 // markers of last words are above it
	againShare   = 0.05      // of accepted messages are posted once more under the same key
)

// Options say who sends.
type Options struct {
	Sessions   int    // that send at the same time
	Window     int    // unanswered messages of a session
	PerSession int    // messages until a session is replaced by a new one
	Mix        string // of roles; see Mixed
}

// Add begins the flags of a command; sessions and perSession are what is usual.
func (o *Options) Add(fs *flag.FlagSet, sessions, perSession int) {
	fs.IntVar(&o.Sessions, "sessions", sessions, "that send at the same time")
	fs.IntVar(&o.Window, "window", 3, "unanswered messages of a session")
	fs.IntVar(&o.PerSession, "per-session", perSession, "messages until a session is replaced by a new one")
}

// New has everybody begin; run is in the names of all sessions and markers.
func New(ctx context.Context, o Options, seed uint64, c Door, run string) *Crowd {
	w := &Crowd{o: o, seed: seed, roles: roles[o.Mix], client: c, run: run, Played: map[session.ID]*Play{}, Stops: make(chan struct{}, 1)}
	w.working, w.quit = context.WithCancel(ctx)
	w.sending, w.stop = context.WithCancel(w.working)
	for i := range o.Sessions {
		w.senders.Go(func() { w.send(i) })
	}
	return w
}

// StopSending lets no new message begin.
func (w *Crowd) StopSending() { w.stop() }

// Roles are the names of what the senders are.
func (w *Crowd) Roles() []string {
	return stat.Each(w.roles, func(r role) string { return r.name })
}

// Finish waits for all replies, at most until the deadline. Where more than plain messages were sent, each session then
// has to answer another one.
func (w *Crowd) Finish(deadline time.Time) {
	t := time.AfterFunc(time.Until(deadline), w.quit)
	defer t.Stop()
	w.senders.Wait()
	w.waiters.Wait()
	if len(w.roles) > 1 {
		w.lastWords()
	}
	w.quit()
	w.client.Close()
}

// Abort ends everything, without waiting for replies.
func (w *Crowd) Abort() {
	w.quit()
	w.Finish(time.Now())
}

// Completed counts the answers: one may be to several messages.
func (w *Crowd) Completed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := map[string]bool{}
	for _, m := range w.Messages {
		if m.Status == "completed" {
			answers[m.Text] = true // with the markers of what it answers
		}
	}
	return len(answers)
}

// Say notes what somebody saw.
func (w *Crowd) Say(k judge.Kind, s session.ID, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Found = append(w.Found, judge.Violation{Kind: k, Session: s, Text: fmt.Sprintf(format, args...)})
}

// send is one sender; its sessions follow one another.
func (w *Crowd) send(i int) {
	rnd := rand.New(rand.NewPCG(w.seed, uint64(i)+2))
	slots := make(chan struct{}, w.o.Window)
	role := w.roles[i%len(w.roles)]
	for n := 0; w.sending.Err() == nil; n++ {
		select {
		case slots <- struct{}{}:
		case <-w.sending.Done():
			return
		}
		p := &Play{name: w.run + "-" + strconv.Itoa(i) + "-" + strconv.Itoa(n/w.o.PerSession), sender: i, Role: role.name}
		first := n%w.o.PerSession == 0
		if role.open != nil && (first || role.again > 0 && n%role.again == 0) && !w.command(p, n, role.open(i, n), rnd) {
			return
		}
		if !w.message(p, n, role.text(rnd, marker.New(w.run, i, n)), rnd, func() { <-slots }) {
			return
		}
		pace.Wait(w.sending, role.pause+time.Duration(rnd.Int64N(int64(pauseMax))))
		if role.stop > 0 && rnd.Float64() < role.stop {
			pace.Wait(w.sending, time.Duration(rnd.IntN(stopMax))*time.Millisecond)
			pace.Tell(w.Stops)
			if !w.command(p, n, "/stop", rnd) {
				return
			}
		}
	}
}

// message is one message and, when that is there, its reply; done is called then.
func (w *Crowd) message(p *Play, n int, text string, rnd *rand.Rand, done func()) bool {
	m := marker.New(w.run, p.sender, n)
	msg := client.Message{Session: p.name, Key: m, Text: m + " " + text}
	a, ok := w.post(msg, rnd)
	if !ok {
		done()
		return false
	}
	rec := &judge.Message{Session: session.ID(a.Session), ID: eventID(a), Key: m, Marker: m}
	w.mu.Lock()
	w.Messages = append(w.Messages, rec)
	w.Played[rec.Session] = p
	w.mu.Unlock()
	w.Accepted.Add(1)
	since := time.Now()
	repeat := rnd.Float64() < againShare
	w.waiters.Go(func() {
		defer done()
		if r, ok := w.await(a, rec.Session, m); ok {
			w.mu.Lock()
			rec.Status, rec.Text = r.Status, r.Text
			w.mu.Unlock()
			w.Answered.Add(1)
			w.Took(time.Since(since))
		}
	})
	if repeat {
		b, ok := w.post(msg, rnd)
		if ok && b.ID != a.ID {
			w.Say(judge.Doubled, rec.Session, "key %s was accepted as %s and again as %s", m, a.ID, b.ID)
		}
		w.Again.Add(1)
	}
	return true
}

// Took notes how long an answer has taken.
func (w *Crowd) Took(d time.Duration) {
	for {
		had := w.longest.Load()
		if int64(d) <= had || w.longest.CompareAndSwap(had, int64(d)) {
			return
		}
	}
}

// Slowest is the longest time that an answer has taken.
func (w *Crowd) Slowest() time.Duration { return time.Duration(w.longest.Load()) }

func eventID(a client.Accepted) string {
	_, id, _ := strings.Cut(a.ID, "~")
	return id
}

// command is one command of a text; its reply is waited for beside.
func (w *Crowd) command(p *Play, n int, text string, rnd *rand.Rand) bool {
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	a, ok := w.post(client.Message{Session: p.name, Key: marker.New(w.run, p.sender, n) + "-" + word, Text: text}, rnd)
	if !ok {
		return false
	}
	rec := &judge.Command{Session: session.ID(a.Session), ID: eventID(a), Text: text}
	w.mu.Lock()
	w.commands = append(w.commands, rec)
	w.mu.Unlock()
	w.waiters.Go(func() {
		if r, ok := w.await(a, rec.Session, text); ok {
			w.mu.Lock()
			rec.Status = r.Status
			w.mu.Unlock()
		}
	})
	return true
}

// lastWords sends one more message to every session and waits for the answers.
func (w *Crowd) lastWords() {
	w.mu.Lock()
	played, before := maps.Clone(w.Played), len(w.Messages)
	w.mu.Unlock()
	slots := make(chan struct{}, w.o.Sessions)
	n := lastNumber
	rnd := rand.New(rand.NewPCG(w.seed, 1<<32))
	for _, id := range slices.Sorted(maps.Keys(played)) {
		select {
		case slots <- struct{}{}:
		case <-w.working.Done():
			return
		}
		n++
		if !w.message(played[id], n, "are you there?", rnd, func() { <-slots }) {
			break
		}
	}
	w.waiters.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.Messages[before:] {
		if p := w.Played[m.Session]; m.Status == "completed" {
			p.Last = true
		}
	}
}

// post goes on until the message is accepted; false when there is no time left, or no hope.
func (w *Crowd) post(m client.Message, rnd *rand.Rand) (client.Accepted, bool) {
	for {
		a, err := w.client.Send(w.working, m)
		if err == nil {
			return a, true
		}
		if hopeless(err) {
			w.Say(judge.Wrong, "", "%s was refused: %v", m.Key, err)
			return client.Accepted{}, false
		}
		if !pace.Wait(w.working, pace.RetryMin+time.Duration(rnd.Int64N(int64(retryMore)))) {
			return client.Accepted{}, false
		}
	}
}

// await asks until the reply is final; false when there is none.
func (w *Crowd) await(a client.Accepted, s session.ID, what string) (client.Reply, bool) {
	for {
		r, err := w.client.Wait(w.working, a.ID, waitPatience)
		switch {
		case err == nil && r.Final():
			return r, true
		case err != nil && hopeless(err):
			w.Say(judge.Lost, s, "the reply to %s, accepted as %s: %v", what, a.ID, err)
			return client.Reply{}, false
		case err == nil: // pending: at once again
			continue
		}
		if !pace.Wait(w.working, pace.RetryMin) {
			return client.Reply{}, false
		}
	}
}

// Evidence is what the senders know, and how often the model was asked for each of their messages. Nobody sends any more.
func (w *Crowd) Evidence(m *fakemodel.Server) judge.Evidence {
	ev := judge.Evidence{Asked: map[string]int{}}
	for _, x := range w.Messages {
		ev.Messages = append(ev.Messages, *x)
		t := m.Tally(x.Marker)
		ev.Asked[x.Marker] = t.Requests - t.Refused
	}
	for _, c := range w.commands {
		ev.Commands = append(ev.Commands, *c)
	}
	return ev
}

// hopeless: an answer that would be the same the next time.
func hopeless(err error) bool {
	var s *client.StatusError
	return errors.As(err, &s) && s.Status < 500 && s.Status != http.StatusTooManyRequests && s.Status != http.StatusRequestTimeout
}
