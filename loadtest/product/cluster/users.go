package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/fault/wire"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

var free = wire.Fault{}

// users has the product make a key for each user of the bus, and say what each may do there. The answer is configuration for a
// server, keys included.
func (c *Cluster) users(ctx context.Context) (string, error) {
	keys, err := c.ask(ctx, "nats", "keys", c.keys)
	if err != nil {
		return "", err
	}
	table, err := c.ask(ctx, "nats", "permissions", "--conf")
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "include ") { // the keys, which stand before it
			lines = append(lines, line)
		}
	}
	return keys + strings.Join(lines, ""), nil
}

// ask runs a short command as the operator.
func (c *Cluster) ask(ctx context.Context, args ...string) (string, error) {
	conf := c.o.Config
	conf.Replicas, conf.Listen = c.o.Copies, "off"
	home, err := daemon.NewHome(filepath.Join(c.o.Dir, "operator"), conf)
	if err != nil {
		return "", err
	}
	out, err := home.Run(ctx, c.o.Binary, args...)
	if err == nil && out.Code != 0 {
		err = errors.New(strings.TrimSpace(string(out.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("jetclaw %s: %w", strings.Join(args, " "), err)
	}
	return string(out.Stdout), nil
}
