package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// The catalogue has one value an executor in the KV bucket "catalog": what tools it offers. It outlives the process that
// published it, so that calls to an executor that is away for a moment wait for it.

// MaxCatalog is the largest value, in bytes.
const MaxCatalog = 900 << 10

const catalogPrefix = "$KV." + subject.Catalog + "."

// SetCatalog replaces what the connection's executor offers. Errors are those of SetValue.
func (c *Conn) SetCatalog(ctx context.Context, executor string, value []byte) error {
	if len(value) > MaxCatalog {
		return fault.New(fault.TooLarge, "the catalogue of %s has %d bytes, at most %d are kept", executor, len(value), MaxCatalog)
	}
	_, err := c.put(ctx, "catalogue of "+executor, catalogPrefix+session.Escape(executor), nil, value)
	return err
}

// CatalogRevision is another number after each change of what executors offer: cheaper than to read it all.
func (c *Conn) CatalogRevision(ctx context.Context) (uint64, error) {
	u, err := c.usage(ctx, "KV_"+subject.Catalog)
	return u.Last, err
}

// Catalog is what all executors offer, by their names.
func (c *Conn) Catalog(ctx context.Context) (map[string][]byte, error) {
	return c.catalog(ctx, catalogPrefix+">")
}

// CatalogOf is what one executor offers; nil for nothing.
func (c *Conn) CatalogOf(ctx context.Context, executor string) ([]byte, error) {
	all, err := c.catalog(ctx, catalogPrefix+session.Escape(executor))
	return all[executor], err
}

func (c *Conn) catalog(ctx context.Context, filter string) (map[string][]byte, error) {
	const bucket = "KV_" + subject.Catalog
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msgs, err := c.lastsFor(ctx, bucket, filter)
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	all := map[string][]byte{}
	for _, m := range msgs {
		if copied(m.Header, m.Subject, m.Sequence) {
			c.log.Warn("what an executor offers is ignored", "subject", m.Subject, "error", errCopied)
			continue
		}
		if m.Header.Get("KV-Operation") == "" {
			if name, err := session.Unescape(strings.TrimPrefix(m.Subject, catalogPrefix)); err == nil {
				all[name] = m.Data
			}
		}
	}
	return all, nil
}

// put stores one value of a KV bucket, and returns its revision.
func (c *Conn) put(ctx context.Context, what, at string, h nats.Header, value []byte) (revision uint64, err error) {
	ack, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: at, Header: h, Data: value})
	var api *jetstream.APIError
	switch {
	case err == nil:
		return ack.Sequence, nil
	case errors.As(err, &api) && api.ErrorCode == codeStoreFailed:
		return 0, fault.New(fault.Full, "store %s: its bucket has no room (%s)", what, api.Description)
	case errors.Is(err, context.Canceled):
		return 0, fmt.Errorf("store %s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return 0, fault.New(fault.Timeout, "store %s: %w", what, err)
	}
	return 0, fault.New(fault.Unavailable, "store %s: %w", what, err)
}

// DropCatalog takes away what an executor offers; nothing to take away is no error.
func (c *Conn) DropCatalog(ctx context.Context, executor string) error {
	_, err := c.put(ctx, "catalogue of "+executor, catalogPrefix+session.Escape(executor), nats.Header{"KV-Operation": {"DEL"}}, nil)
	return err
}
