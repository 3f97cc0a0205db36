package bus

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Values are small things that a service keeps across restarts and shares with its other workers: not events, and not
// rebuildable. They lie in the KV bucket "settings" under the service's own name, so that no other service can read or
// write them. Last writer wins; on a cluster a read may be a moment old.

// MaxValue is the largest value, in bytes.
const MaxValue = 64 << 10

const maxKeyTokens = 8

// valueSubject is where a value lies. A key is written "token.token": each token is any text.
func (c *Conn) valueSubject(key string) (string, error) {
	tokens := strings.Split(key, ".")
	if len(tokens) > maxKeyTokens {
		return "", fault.New(fault.Invalid, "key %.40q has %d parts, at most %d", key, len(tokens), maxKeyTokens)
	}
	for i, t := range tokens {
		t = session.Escape(t)
		if t == "" || len(t) > session.MaxToken {
			return "", fault.New(fault.Invalid, "key %.40q: part %d is empty or too long", key, i+1)
		}
		tokens[i] = t
	}
	return valuePrefix + c.service + "." + strings.Join(tokens, "."), nil
}

const valuePrefix = "$KV." + subject.Settings + "."

// Value reads a value of the connection's service; ok is false when there is none.
func (c *Conn) Value(ctx context.Context, key string) (value []byte, ok bool, err error) {
	value, _, ok, err = c.ValueRevision(ctx, key)
	return value, ok, err
}

// ValueRevision is Value with the number by which ReviseValue knows it: that of a removed value too, 0 for one that never was.
func (c *Conn) ValueRevision(ctx context.Context, key string) (value []byte, revision uint64, ok bool, err error) {
	at, err := c.valueSubject(key)
	if err != nil {
		return nil, 0, false, err
	}
	m, err := c.request(ctx, "$JS.API.DIRECT.GET.KV_"+subject.Settings+"."+at, nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, 0, false, fault.New(fault.Timeout, "read value %s: %w", key, err)
	case err != nil:
		return nil, 0, false, fault.New(fault.Unavailable, "read value %s: %w", key, err)
	}
	switch status := m.Header.Get("Status"); {
	case status == "404":
		return nil, 0, false, nil
	case status != "":
		return nil, 0, false, fault.New(fault.Unavailable, "read value %s: %s %s", key, status, m.Header.Get("Description"))
	}
	if revision, err = strconv.ParseUint(own(m.Header, jetstream.SequenceHeader), 10, 64); err != nil {
		return nil, 0, false, fault.New(fault.Unavailable, "read value %s: it has no sequence", key)
	}
	if copied(m.Header, at, revision) {
		return nil, 0, false, fault.New(fault.Internal, "read value %s: %w", key, errCopied)
	}
	if m.Header.Get("KV-Operation") != "" {
		return nil, revision, false, nil
	}
	return m.Data, revision, true, nil
}

// SetValue replaces a value of the connection's service. Errors: fault.Invalid for a key that is none, TooLarge above
// MaxValue, Full, and Timeout or Unavailable, after which nobody knows.
func (c *Conn) SetValue(ctx context.Context, key string, value []byte) error {
	if len(value) > MaxValue {
		return fault.New(fault.TooLarge, "value %s has %d bytes, at most %d are kept", key, len(value), MaxValue)
	}
	_, err := c.putValue(ctx, key, nil, value)
	return err
}

// ReviseValue replaces a value of the connection's service if it is still that of a revision, and returns the new one; 0 when it
// is not. Errors are those of SetValue.
func (c *Conn) ReviseValue(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if len(value) > MaxValue {
		return 0, fault.New(fault.TooLarge, "value %s has %d bytes, at most %d are kept", key, len(value), MaxValue)
	}
	next, err := c.putValue(ctx, key, nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(revision, 10)}}, value)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastConstant) {
		return 0, nil
	}
	return next, err
}

// DropValue removes a value of the connection's service; one that is not there is no error.
func (c *Conn) DropValue(ctx context.Context, key string) error {
	_, err := c.putValue(ctx, key, nats.Header{"KV-Operation": {"DEL"}}, nil)
	return err
}

func (c *Conn) putValue(ctx context.Context, key string, h nats.Header, value []byte) (revision uint64, err error) {
	at, err := c.valueSubject(key)
	if err != nil {
		return 0, err
	}
	return c.put(ctx, "value "+key, at, h, value)
}
