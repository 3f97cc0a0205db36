package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// backlogScan bounds how many events above the ack floor Backlog reads; what lies below the window is delivered again by
// the server after AckWait.
const backlogScan = 20_000

var errNoConsumer = errors.New("no such consumer")

// Backlog lists what the service's consumer has delivered and has perhaps not seen acked: the newest doorbell of each
// part of each session between its ack floor and its last delivery, oldest first. At a start these are looked at without
// waiting for AckWait. part says which part of its session an event belongs to; nil: a session has one.
func (c *Conn) Backlog(ctx context.Context, spec Spec, part func(envelope.Event) string) ([]envelope.Event, error) {
	if len(spec.Doorbells) == 0 {
		return nil, nil
	}
	var info struct {
		jetstream.ConsumerInfo
		Error *jetstream.APIError `json:"error"`
	}
	asked := time.Now()
	if err := c.api(ctx, "CONSUMER.INFO."+subject.Journal+"."+spec.Name, struct{}{}, &info); err != nil {
		return nil, fmt.Errorf("backlog of %s: %w", spec.Name, err)
	}
	if info.Error != nil {
		return nil, fault.New(fault.Unavailable, "backlog of %s: %w: %w", spec.Name, errNoConsumer, info.Error)
	}
	c.clock.heard(info.TimeStamp, asked, time.Now())
	if info.NumAckPending == 0 {
		return nil, nil
	}
	o := ReplayOptions{From: info.AckFloor.Stream + 1, To: info.Delivered.Stream}
	if o.To > backlogScan {
		o.From = max(o.From, o.To-backlogScan)
	}
	type lane struct {
		session session.ID
		part    string
	}
	newest := make(map[lane]envelope.Event)
	err := c.Replay(ctx, o, func(ev envelope.Event) error {
		if !ringsFor(spec.Doorbells, ev.Subject()) {
			return nil
		}
		l := lane{session: ev.Session}
		if part != nil {
			l.part = part(ev)
		}
		newest[l] = ev
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("backlog of %s: %w", spec.Name, err)
	}
	events := make([]envelope.Event, 0, len(newest))
	for _, ev := range newest {
		events = append(events, ev)
	}
	slices.SortFunc(events, func(a, b envelope.Event) int { return int(a.Cursor) - int(b.Cursor) })
	return events, nil
}
