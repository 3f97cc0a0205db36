package bus

import (
	"context"
	"errors"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Object is an object as a purge has looked at it.
type Object struct{ version }

// Objects are those that a session has.
func Objects(ctx context.Context, c *Conn, s session.ID) (all []Object, err error) {
	list, err := c.blobsOf(ctx, s)
	for _, v := range list {
		all = append(all, Object{v})
	}
	return all, err
}

// Purge takes an object away as it was looked at.
func (o Object) Purge(ctx context.Context, admin *Conn, below uint64) error {
	return admin.purgeBlob(ctx, o.version, below)
}

// Hold describes it anew as of a cursor, if nobody else has since it was looked at.
func (o Object) Hold(ctx context.Context, c *Conn, prev uint64) (overtaken bool, err error) {
	err = c.describe(ctx, o.version, held(o.info, prev))
	if _, ok := errors.AsType[*Conflict](err); ok {
		return true, nil
	}
	return false, err
}

// Age makes it one that an older jetclaw has put.
func (o Object) Age(ctx context.Context, c *Conn) error {
	info := o.info
	info.Metadata = nil
	return c.describe(ctx, o.version, info)
}

// Doom begins to purge it, and dies.
func (o Object) Doom(ctx context.Context, admin *Conn) error {
	info := o.info
	info.Deleted = true
	return admin.describe(ctx, o.version, info)
}

// Forge describes it as having the chunks of another name.
func (o Object) Forge(ctx context.Context, c *Conn, nuid string) error {
	info := o.info
	info.NUID = nuid
	return c.describe(ctx, o.version, info)
}

// Mislead has a connection believe that the server's clock is ahead by so much, as it was before this machine slept for a day.
func Mislead(c *Conn, by time.Duration) {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	now := time.Now()
	c.clock.at, c.clock.wall, c.clock.by = now, now.Round(0).Add(-24*time.Hour), by
}

// LeaderSince is the first cursor from a time on, as the leader has it.
func LeaderSince(ctx context.Context, c *Conn, at time.Time, last uint64) (uint64, error) {
	return c.leaderSince(ctx, at, last)
}
