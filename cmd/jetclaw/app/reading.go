package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/services/conversations"
)

func (p *parts) conversations(c *bus.Conn) (lifecycle.Service, error) {
	s, err := conversations.New(conversations.Config{Conn: c, Path: p.index, Log: c.Log()})
	if err != nil {
		return nil, err
	}
	return sole{s, p.holdIndex}, nil
}

// sole is a service that writes a file which no other process may write.
type sole struct {
	lifecycle.Service
	hold func() (release func() error, err error)
}

// Run implements lifecycle.Service.
func (s sole) Run(ctx context.Context) (err error) {
	release, err := s.hold()
	if err != nil {
		return fmt.Errorf("%w: each process of conversations needs a home of its own (JETCLAW_HOME)", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	return s.Service.Run(ctx)
}
