package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// trace is the sum of all that has happened, in order: two runs are the same when theirs are. It is FNV-1a over each
// occurrence's time, kind, process and number.
type trace struct {
	sum uint64
	out io.Writer // each occurrence as a line; nil: none
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func newTrace(out io.Writer) *trace { return &trace{sum: fnvOffset, out: out} }

func (t *trace) number(n uint64) {
	for range 8 {
		t.sum = (t.sum ^ n&0xff) * fnvPrime
		n >>= 8
	}
}

func (t *trace) text(s string) {
	for i := range len(s) {
		t.sum = (t.sum ^ uint64(s[i])) * fnvPrime
	}
	t.sum = (t.sum ^ 0xff) * fnvPrime
}

func (t *trace) note(at time.Duration, o occurrence) {
	id := ""
	if o.life != nil {
		id = o.life.id
	}
	t.number(uint64(at))
	t.text(o.what)
	t.text(id)
	t.number(o.n)
	if t.out != nil {
		_, _ = fmt.Fprintf(t.out, "%15.9f %-6s %-28s %d\n", at.Seconds(), id, o.what, o.n)
	}
}

// say adds a line for people that is no part of the sum.
func (t *trace) say(at time.Duration, format string, args ...any) {
	if t.out != nil {
		_, _ = fmt.Fprintf(t.out, "%15.9f        %s\n", at.Seconds(), fmt.Sprintf(format, args...))
	}
}

// event says what the journal has taken.
func (t *trace) event(at time.Duration, e envelope.Event) {
	if t.out == nil {
		return
	}
	data, err := json.Marshal(e.Body)
	if err != nil {
		data = []byte(err.Error())
	}
	t.say(at, "#%d <-%d %s %s %s by %s at %s %s", e.Cursor, e.Prev, e.Session, e.Type(), e.ID, e.Source, e.Time.Format("15:04:05.000"), data)
}
