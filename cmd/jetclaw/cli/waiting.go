package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const (
	longWait = 5 * time.Second // without a sign of an answer: then the person is told what is going on
	lookTime = 2 * time.Second // for a look at the journal that is only for a better word
	lookBack = 2000            // events
)

const (
	stillWorking = "still working…"
	noWorker     = "no worker answers yet; start `jetclaw run --target turns` where none runs"
)

// waitsFor says what a message waits for: a worker that has its session, one that nobody has started, or a person's decision
// about what came before it; then parked.
func (t *talk) waitsFor(ctx context.Context, cursor uint64) (text string, parked bool) {
	if !t.desk.conn.NATS().IsConnected() {
		return stillWorking, false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	busy := false
	asked := map[string]approvalv1.Requested{}
	part := bus.ReplayOptions{Session: t.session(), From: cursor - min(cursor, lookBack)}
	err := t.desk.conn.Replay(ctx, part, func(e envelope.Event) error {
		switch b := e.Body.(type) {
		case turnv1.Started, turnv1.Continued, turnv1.Resumed, turnv1.Stepped, turnv1.Overflowed, turnv1.CompactionStarted:
			busy = true
		case turnv1.Completed, turnv1.Failed, turnv1.Cancelled, turnv1.SessionCompacted, turnv1.CompactionFailed:
			busy = e.Cursor > cursor // what has just ended is about to be shown
		case approvalv1.Requested:
			asked[b.Approval] = b
		case approvalv1.Decided:
			delete(asked, b.Approval)
		case approvalv1.Expired:
			delete(asked, b.Approval)
		case approvalv1.Cancelled:
			delete(asked, b.Approval)
		case approvalv1.Voided:
			delete(asked, b.Approval)
		}
		return nil
	})
	for id, a := range asked {
		if err == nil {
			return fmt.Sprintf("it waits until approval %s for %s is decided: `jetclaw approvals show %s`; /stop gives that up", id, oneLine(a.Tool), id), true
		}
	}
	if err == nil && !busy && !t.alone {
		return noWorker, false
	}
	return stillWorking, false
}
