package bus

import (
	"context"
	"errors"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// MaxFile is the largest attachment that is kept, in bytes.
const MaxFile = 32 << 20

// filesFull is the share of the object store at which it takes no more attachments: the rest is for bodies of events, without which
// conversations could not go on.
const filesFull = 0.75

// PutFile keeps an attachment of a session in the object store, and returns the SHA-256 by which it is found again. The same
// bytes are kept once. They go when the session is deleted, unless a message above the tombstone names them. Errors:
// fault.TooLarge above MaxFile, Full, and Timeout or Unavailable.
func (c *Conn) PutFile(ctx context.Context, s session.ID, data []byte) (digest string, err error) {
	if len(data) > MaxFile {
		return "", fault.New(fault.TooLarge, "a file of %d bytes: at most %d are kept", len(data), MaxFile)
	}
	u, err := c.FileUsage(ctx)
	switch {
	case err != nil:
		return "", err
	case u.Full() >= filesFull:
		return "", fault.New(fault.Full, "the object store is %.0f %% full and takes no more files: delete sessions", 100*u.Full())
	}
	last, err := c.Journal().Last(ctx, s)
	if err != nil {
		return "", err
	}
	return c.putBlob(ctx, s, data, last)
}

// GetFile reads an attachment of a session. Errors: fault.NotFound for one that is not there, or not what it was, and Timeout or
// Unavailable.
func (c *Conn) GetFile(ctx context.Context, s session.ID, digest string) ([]byte, error) {
	data, err := c.getBlob(ctx, s, digest)
	if errors.Is(err, errBlob) {
		return nil, fault.New(fault.NotFound, "file %.16s… of %s: %w", digest, s, err)
	}
	return data, err
}
