package cluster

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

const leaderTime = 2 * time.Second // to ask who leads

// JournalLeader is the server that leads the journal, as the servers say; -1 when nobody knows.
func (c *Cluster) JournalLeader(ctx context.Context, admin *bus.Conn) int {
	ctx, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	st, err := admin.JetStream().Stream(ctx, subject.Journal)
	if err != nil || st.CachedInfo().Cluster == nil {
		return -1
	}
	return c.Node(st.CachedInfo().Cluster.Leader)
}

// ConsumerLeader is the server that leads a consumer of the journal; -1 when nobody knows.
func (c *Cluster) ConsumerLeader(ctx context.Context, admin *bus.Conn, consumer string) int {
	ctx, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	x, err := admin.JetStream().Consumer(ctx, subject.Journal, consumer)
	if err != nil || x.CachedInfo() == nil || x.CachedInfo().Cluster == nil {
		return -1
	}
	return c.Node(x.CachedInfo().Cluster.Leader)
}
