package cluster

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

const LeaderTime = 2 * time.Second // to ask who leads

func Leader(ctx context.Context, admin *bus.Conn, k *Cluster) int {
	ctx, cancel := context.WithTimeout(ctx, LeaderTime)
	defer cancel()
	st, err := admin.JetStream().Stream(ctx, subject.Journal)
	if err != nil || st.CachedInfo().Cluster == nil {
		return -1
	}
	return k.Node(st.CachedInfo().Cluster.Leader)
}
