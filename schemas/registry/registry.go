// Package registry is the one list of all event types: decoding, JSON Schemas, AsyncAPI and golden samples follow it.
package registry

import (
	"encoding/json"
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Type is one event type.
type Type struct {
	Name   string        // "turn.started.v1"
	Owner  string        // the only service that may append it; "*" where each may under its own suffix
	Zero   envelope.Body // its Go type
	decode func([]byte) (envelope.Body, error)
}

func of[B envelope.Body](owner string) Type {
	var zero B
	return Type{Name: zero.EventType(), Owner: owner, Zero: zero, decode: func(data []byte) (envelope.Body, error) {
		var b B
		err := json.Unmarshal(data, &b)
		return b, err
	}}
}

var types = []Type{
	of[messagev1.Received]("intake"),
	of[messagev1.Edited]("intake"),
	of[messagev1.Refused]("intake"),
	of[messagev1.Control]("intake"),
	of[messagev1.Reacted]("intake"),
	of[messagev1.Quarantined]("intake"),
	of[accessv1.Requested]("intake"),
	of[accessv1.Granted]("intake"),
	of[accessv1.Revoked]("intake"),
	of[accessv1.Moved]("intake"),
	of[turnv1.Started]("turns"),
	of[turnv1.Continued]("turns"),
	of[turnv1.Resumed]("turns"),
	of[turnv1.Stepped]("turns"),
	of[turnv1.Completed]("turns"),
	of[turnv1.Failed]("turns"),
	of[turnv1.Cancelled]("turns"),
	of[turnv1.Overflowed]("turns"),
	of[turnv1.CompactionStarted]("turns"),
	of[turnv1.CompactionFailed]("turns"),
	of[turnv1.SessionCompacted]("turns"),
	of[turnv1.SessionConfigured]("turns"),
	of[turnv1.SessionReset]("turns"),
	of[turnv1.SessionDeleted]("turns"),
	of[turnv1.Forked]("turns"),
	of[messagev1.Decision]("intake"),
	of[messagev1.PermissionAnswer]("intake"),
	of[callv1.Dispatched]("tools"),
	of[callv1.Awaiting]("tools"),
	of[callv1.Denied]("tools"),
	of[callv1.Started]("*"),
	of[callv1.Asked]("*"),
	of[callv1.Completed]("*"),
	of[approvalv1.Requested]("approvals"),
	of[approvalv1.Decided]("approvals"),
	of[approvalv1.Expired]("approvals"),
	of[approvalv1.Cancelled]("approvals"),
	of[approvalv1.Voided]("approvals"),
	of[deliveryv1.Started]("outbox"),
	of[deliveryv1.Sent]("outbox"),
	of[deliveryv1.Deferred]("outbox"),
	of[deliveryv1.Failed]("outbox"),
	of[deliveryv1.Unknown]("outbox"),
	of[deliveryv1.Drafting]("outbox"),
	of[deliveryv1.Drafted]("outbox"),
	of[noticev1.Posted]("*"),
}

var byName = func() map[string]Type {
	m := make(map[string]Type, len(types))
	for _, t := range types {
		m[t.Name] = t
	}
	return m
}()

// All is every type, grouped by noun.
func All() []Type { return append([]Type(nil), types...) }

// Decode reads a body by its type. An unknown type is an error: the caller keeps the bytes as envelope.Unknown.
func Decode(typ string, data []byte) (envelope.Body, error) {
	t, ok := byName[typ]
	if !ok {
		return nil, fmt.Errorf("%w %q", ErrType, typ)
	}
	b, err := t.decode(data)
	if err != nil {
		return nil, fmt.Errorf("body of %s: %w", typ, err)
	}
	return b, nil
}
