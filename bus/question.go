package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// A question is whatever is sent and waits for one answer: a request, a publish to a stream. nats.go waits for the answer as long as
// the context lasts, also when it can be known that none will come: the server has refused the subject, or the connection that
// the question went over is lost. Here it ends then, and what may be asked twice is asked again once the bus is back.

var (
	// errLost says that the connection was lost before the answer: what was asked may have been done.
	errLost = errors.New("the bus was lost before the answer")
	// errRefused says that the connection's user may not ask: nothing was done.
	errRefused = errors.New("the user's permissions do not allow it")
)

// questions are those that wait for an answer on one connection.
type questions struct {
	mu      sync.Mutex
	last    uint64              // guarded by mu; the number of the newest
	waiting map[uint64]question // guarded by mu; by number
}

type question struct {
	subject string
	asked   time.Time
	end     context.CancelFunc
	why     error // what has ended it; nil while nothing has
}

// begin notes a question. It ends with ctx, at limit, and when the connection knows that no answer comes.
func (q *questions) begin(ctx context.Context, limit time.Time, subj string) (context.Context, uint64) {
	var end context.CancelFunc
	if d, ok := ctx.Deadline(); ok && !limit.Before(d) {
		ctx, end = context.WithCancel(ctx)
	} else {
		ctx, end = context.WithDeadline(ctx, limit)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	q.waiting[q.last] = question{subject: subj, asked: time.Now(), end: end}
	return ctx, q.last
}

// done forgets a question, and says what has ended it but an answer or its context.
func (q *questions) done(number uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.waiting[number]
	was.end()
	delete(q.waiting, number)
	return was.why
}

// end ends those questions that which chooses.
func (q *questions) end(why error, which func(question) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for number, w := range q.waiting {
		if w.why == nil && which(w) {
			w.why = why
			q.waiting[number] = w
			w.end()
		}
	}
}

// longest is how long the one waits that waits longest of those that which chooses; 0 when none does.
func (q *questions) longest(now time.Time, which func(question) bool) (longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		if which(w) {
			longest = max(longest, now.Sub(w.asked))
		}
	}
	return longest
}

// once sends a question. It ends with ctx, after requestTimeout when that has no deadline, and with errLost or errRefused.
func once[T any](ctx context.Context, c *Conn, subj string, send func(context.Context) (T, error)) (T, error) {
	return sent(ctx, limitOf(ctx), c, subj, send)
}

// again is once for a question that may be asked twice: it is, when the connection was lost before the answer and is back in time. twice
// says that what was asked may have been done before.
func again[T any](ctx context.Context, c *Conn, subj string, send func(context.Context) (T, error)) (answer T, twice bool, err error) {
	limit := limitOf(ctx)
	for {
		answer, err = sent(ctx, limit, c, subj, send)
		lost := errors.Is(err, errLost) || twice && errors.Is(err, nats.ErrReconnectBufExceeded)
		if !lost || !c.back(ctx, limit) {
			return answer, twice, err
		}
		twice = true
	}
}

func sent[T any](ctx context.Context, limit time.Time, c *Conn, subj string, send func(context.Context) (T, error)) (T, error) {
	asking, number := c.questions.begin(ctx, limit, subj)
	answer, err := send(asking)
	why := c.questions.done(number)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil: // the asker does not wait any more
		err = caused(ctx, err)
	case why != nil:
		err = why
	case errors.Is(err, nats.ErrDisconnected): // nats.go itself knows
		err = errLost
	}
	if ofJournal(subj) {
		c.noteLeader(subject.Journal, err)
	}
	return answer, err
}

func limitOf(ctx context.Context) time.Time {
	if d, ok := ctx.Deadline(); ok {
		return d
	}
	return time.Now().Add(requestTimeout)
}

// back waits until the connection is in use again; false when that takes longer than to limit or ctx, or it is closed for good.
func (c *Conn) back(ctx context.Context, limit time.Time) bool {
	news := c.nc.StatusChanged(nats.CONNECTED)
	defer c.nc.RemoveStatusListener(news)
	late := time.NewTimer(time.Until(limit))
	defer late.Stop()
	for !c.nc.IsConnected() {
		select {
		case <-news:
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		case <-c.closed:
			return false
		}
	}
	return true
}

// publish stores a message once: when the bus is lost nobody knows.
func (c *Conn) publish(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	return once(ctx, c, m.Subject, func(ctx context.Context) (*jetstream.PubAck, error) { return c.js.PublishMsg(ctx, m) })
}

// publishAgain stores a message that may be stored twice.
func (c *Conn) publishAgain(ctx context.Context, m *nats.Msg) (ack *jetstream.PubAck, twice bool, err error) {
	return again(ctx, c, m.Subject, func(ctx context.Context) (*jetstream.PubAck, error) { return c.js.PublishMsg(ctx, m) })
}

// unanswered is the kind of fault of a question without an answer. What is refused is Unavailable as well: it is the installation that
// is at fault, nothing in the work, and somebody can mend that meanwhile.
func unanswered(err error) fault.Kind {
	for _, e := range []error{context.DeadlineExceeded, nats.ErrTimeout, errLost} {
		if errors.Is(err, e) {
			return fault.Timeout
		}
	}
	return fault.Unavailable
}

// caused adds why the asker does not wait any more to the bare end of its context.
func caused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// quotes says whether the server's refusal is about a subject.
func quotes(violation, subj string) bool { return strings.Contains(violation, `"`+subj+`"`) }
