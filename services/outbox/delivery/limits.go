package delivery

import (
	"errors"
	"hash/fnv"
	"strconv"
	"time"
)

// Route is how a channel shows things.
type Route string

const (
	// Mailbox channels show what the journal holds when somebody asks; a delivery is sent as soon as it is its turn.
	Mailbox Route = "mailbox"
	// Push channels have to be called, and cannot tell a repeat.
	Push Route = "push"
	// Away channels are called by other processes than this one: what is due waits for them.
	Away Route = "away"
)

// Limits is the policy of the machine.
type Limits struct {
	// Routes says how each channel shows things. A delivery to a channel that is missing here fails: a receipt
	// without a reader would be a lie.
	Routes map[string]Route `json:"routes"`
	// Attempts is how often one item is tried, attempts of unknown outcome included.
	Attempts int `json:"attempts"`
	// SendTime is the time limit of one call of a channel, counted from the claim.
	SendTime time.Duration `json:"send_time"`
	// Grace is added to SendTime for the deadline of an attempt, after which others may take it over: it covers the
	// append of the outcome and the difference of two clocks.
	Grace time.Duration `json:"grace"`
	// Backoff is the wait after a failed attempt (from 1) of a delivery. A pure function; it is not recorded with the rest.
	Backoff func(delivery string, attempt int) time.Duration `json:"-"`
	// ResendUnknown says what follows an attempt that may have arrived: another one, marked as a repeat, or nothing
	// (the item is held for a person).
	ResendUnknown bool `json:"resend_unknown"`
	// MaxAge is how long after its first attempt an item is given up. An item gets its first attempt however old it is.
	MaxAge time.Duration `json:"max_age"`
}

// DefaultLimits tries eight times over about an hour and a half, and repeats what may have arrived.
func DefaultLimits() Limits {
	return Limits{
		Routes:        map[string]Route{"http": Mailbox, "mcp": Mailbox, "terminal": Mailbox},
		Attempts:      8,
		SendTime:      30 * time.Second,
		Grace:         5 * time.Second,
		Backoff:       Backoff,
		ResendUnknown: true,
		MaxAge:        24 * time.Hour,
	}
}

// Validate says what is wrong with the limits, and what would come of it.
func (l Limits) Validate() error {
	switch {
	case l.Attempts < 1:
		return errors.New("outbox: attempts is below 1: nothing would ever be sent")
	case l.SendTime <= 0:
		return errors.New("outbox: the time limit of a send is not positive: every send would be cut off at once")
	case l.Grace <= 0:
		return errors.New("outbox: grace is not positive: an attempt would be taken over while its outcome is recorded")
	case l.Backoff == nil:
		return errors.New("outbox: no backoff: a channel that is down would be called in a tight loop")
	case l.MaxAge <= 0:
		return errors.New("outbox: max age is not positive: nothing would be tried twice")
	}
	for channel, r := range l.Routes {
		if r != Mailbox && r != Push && r != Away {
			return errors.New("outbox: channel " + channel + " has the unknown route " + strconv.Quote(string(r)))
		}
	}
	return nil
}

const (
	backoffFirst = time.Second
	backoffLast  = time.Hour
)

// Backoff waits 1 s, 4 s, 16 s… up to an hour, each ±30 %. The jitter is drawn from the delivery and the attempt, so
// that a decision taken twice is the same decision, and a thousand deliveries do not come back together.
func Backoff(delivery string, attempt int) time.Duration {
	d := backoffFirst
	for i := 1; i < attempt && d < backoffLast; i++ {
		d *= 4
	}
	d = min(d, backoffLast)
	h := fnv.New64a()
	_, _ = h.Write([]byte(delivery + "/" + strconv.Itoa(attempt))) // fnv never fails
	permille := 700 + h.Sum64()%601
	return d / 1000 * time.Duration(permille)
}
