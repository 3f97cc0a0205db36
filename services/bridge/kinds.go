package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// kinds knows of approvals whose tools they are about, which the events that end them do not say.
type kinds struct {
	executors map[string]string // by approval
	order     []string          // of executors, the oldest first
}

const (
	maxKinds = 1024
	maxSteps = 512 // along a session's chain, back to the question
)

func newKinds() *kinds { return &kinds{executors: map[string]string{}} }

func (k *kinds) keep(approval, executor string) {
	if _, ok := k.executors[approval]; !ok {
		k.order = append(k.order, approval)
	}
	k.executors[approval] = executor
	for len(k.order) > maxKinds {
		delete(k.executors, k.order[0])
		k.order = k.order[1:]
	}
}

// of is the executor of the call that an event's approval is about; "" for other events, and where it cannot be found any more.
func (k *kinds) of(ctx context.Context, conn *bus.Conn, ev envelope.Event) (string, error) {
	if b, ok := ev.Body.(approvalv1.Requested); ok {
		k.keep(b.Approval, b.Executor)
		return b.Executor, nil
	}
	id, ok := event.Resolves(ev)
	if !ok {
		return "", nil
	}
	if executor, ok := k.executors[id]; ok {
		return executor, nil
	}
	at := ev.Prev
	for range maxSteps {
		if at == 0 {
			break
		}
		earlier, err := conn.Journal().Get(ctx, at)
		if errors.Is(err, bus.ErrNoEvent) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("the question of approval %s: %w", id, err)
		}
		if b, ok := earlier.Body.(approvalv1.Requested); ok && b.Approval == id {
			k.keep(id, b.Executor)
			return b.Executor, nil
		}
		at = earlier.Prev
	}
	return "", nil
}
