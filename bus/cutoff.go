package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/subject"
)

// A server that is cut off from its cluster answers pings and direct gets, and nobody leads a stream there: appends and doorbells stop
// for as long as a connection stays. So a connection that knows several servers looks at what waits. When there is doubt (something
// asked of the journal has waited for a while, nobody leads it, doorbells have no heartbeat) it asks the journal's leader for a
// sign. Without one for signless it goes to the next server, and again after pauses that grow: where no server has a leader,
// moving does not help. In doubt it stays until it has the sign.
//
// An election is the same to see and lasts for 4 to 9 s; then a connection has moved once for nothing.

const (
	lookEvery = 500 * time.Millisecond
	overdue   = 500 * time.Millisecond // so long an answer may take without doubt
	signWait  = time.Second
	// signEvery is how often a connection that appends or has doorbells asks without doubt, and so knows who leads: an answer of one that
	// leads no more does not come, and a consumer's leader that is cut off together with a connection goes on with its heartbeats for
	// up to 20 s.
	signEvery = 2 * time.Second
	// signless and what comes before (a look, overdue) stay below AckWait, so that work goes on as soon as after the end of a worker.
	signless  = 3 * time.Second
	firstMove = 10 * time.Second // the first pause between two moves; it doubles up to lastMove, ±30 %
	lastMove  = 2 * time.Minute
)

// sign is what was heard of the journal's leader.
type sign int

const (
	led    sign = iota // it leads
	silent             // nobody has answered, or nobody leads
	parted             // it does not hear from a majority of the copies: another one leads, or will
)

// moves decides when a connection goes to another server.
type moves struct {
	since time.Time     // when there was no sign for the first time; zero: there was one
	next  time.Time     // not before then
	pause time.Duration // between the last move and next
}

// heard takes what was heard between two times, and says whether to go to another server. chance, 0 to 1, spreads the pauses.
func (m *moves) heard(s sign, asked, now time.Time, chance float64) bool {
	if s == led {
		*m = moves{}
		return false
	}
	if m.since.IsZero() {
		m.since = asked
	}
	if s == silent && now.Sub(m.since) < signless || now.Before(m.next) {
		return false
	}
	m.pause = min(max(2*m.pause, firstMove), lastMove)
	m.next = now.Add(time.Duration(float64(m.pause) * (0.7 + 0.6*chance)))
	m.since = time.Time{}
	return true
}

// stayLed looks until the connection is closed for good.
func (c *Conn) stayLed() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var (
		m      moves
		leader string    // of the last sign
		last   time.Time // when a sign was last asked for
	)
	for {
		select {
		case <-c.closed:
			return
		case <-tick.C:
		}
		asked, server := time.Now(), c.nc.ConnectedServerName()
		due := c.inDoubt(asked) || c.depends.Load() && asked.Sub(last) >= signEvery
		if !due || !c.nc.IsConnected() || len(c.nc.Servers()) < 2 {
			continue
		}
		last = asked
		s, by := c.sign()
		if s == led {
			c.doubt.Store(false)
			if m != (moves{}) || leader != "" && by != leader { // what was asked before may have been asked of one that leads no more
				c.questions.end(errLost, func(q question) bool { return ofJournal(q.subject) && q.asked.Before(asked) })
			}
			leader = by
		} else {
			c.trouble.sign("nobody leads the journal", time.Now())
		}
		if !m.heard(s, asked, time.Now(), rand.Float64()) {
			continue
		}
		c.log.Warn("no sign of the journal's leader at this NATS server: trying another one", "server", server, "next_not_before", m.next)
		if err := c.nc.ForceReconnect(); err != nil {
			return // it is closed
		}
	}
}

// inDoubt says whether there is reason to ask for a sign.
func (c *Conn) inDoubt(now time.Time) bool {
	return c.doubt.Load() || c.questions.longest(now, func(q question) bool { return ofJournal(q.subject) }) >= overdue
}

// sign asks for a sign of the leader, and who that is.
func (c *Conn) sign() (_ sign, leader string) {
	ctx, cancel := context.WithTimeout(context.Background(), signWait)
	defer cancel()
	info, err := c.streamInfo(ctx, subject.Journal)
	switch {
	case missing(err), errors.Is(err, errRefused): // by somebody who does lead, or nobody may ask
		return led, ""
	case err != nil:
		return silent, ""
	case !info.leads():
		return parted, ""
	}
	return led, info.Cluster.Leader
}

// noteLeader notes what an answer about a stream says of its leader.
func (c *Conn) noteLeader(stream string, err error) {
	if stream == subject.Journal && noLeader(err) {
		c.doubt.Store(true)
	}
}

// ofJournal says whether a question is about the journal. Who asks one may ask for a sign of its leader, too.
func ofJournal(subj string) bool {
	if rest, ok := strings.CutPrefix(subj, apiRoot); ok {
		return strings.HasSuffix(rest, "."+subject.Journal) || strings.Contains(rest, "."+subject.Journal+".")
	}
	return strings.HasPrefix(subj, strings.TrimSuffix(subject.JournalAll, ">"))
}

// noLeader says whether an error may mean that nobody leads what was asked about.
func noLeader(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch api.ErrorCode {
		case codeNotAvailable, codeWrongLastConstant, codeInProcess: // what is under way is agreed on in no time where there is a leader
			return true
		}
		return false
	}
	for _, e := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, context.DeadlineExceeded, jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
