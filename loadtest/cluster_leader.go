package main

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/cluster"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

const leaderTime = 2 * time.Second // to ask who leads

func leaderOf(ctx context.Context, admin *bus.Conn, k *cluster.Cluster) int {
	ctx, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	st, err := admin.JetStream().Stream(ctx, subject.Journal)
	if err != nil || st.CachedInfo().Cluster == nil {
		return -1
	}
	return k.Node(st.CachedInfo().Cluster.Leader)
}
