package app

import (
	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/services/conversations"
)

func (p *parts) conversations(c *bus.Conn) (lifecycle.Service, error) {
	return conversations.New(conversations.Config{Conn: c, Path: p.index, Log: c.Log()})
}
