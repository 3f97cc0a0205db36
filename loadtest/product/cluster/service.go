package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fault/wire"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// Service is one process of one service. Its methods are for one goroutine.
type Service struct {
	Name   string // "turns-1"
	Target string // "turns"
	Home   daemon.Home
	Links  []*wire.Proxy // to each NATS server, in their order

	binary, creds string
	direct        string          // URLs of the servers, where there are no proxies
	process       *daemon.Process // nil when it does not run
	paused        bool
	from          int64 // where its log began with this start
}

// Running says whether its process is there; it may stand still.
func (s *Service) Running() bool { return s.process != nil }

// Process is what runs it; nil for none.
func (s *Service) Process() *daemon.Process { return s.process }

// Start starts it, unless it runs; it does not wait until it is ready.
func (s *Service) Start() error {
	if s.process != nil {
		return nil
	}
	s.from = 0
	if st, err := os.Stat(s.Home.LogFile()); err == nil {
		s.from = st.Size()
	}
	var urls []string
	for _, l := range s.Links {
		urls = append(urls, "nats://"+l.Addr())
	}
	if len(urls) == 0 {
		urls = []string{s.direct}
	}
	p, err := daemon.Start(s.binary, s.Home, "--target", s.Target, "--nats", strings.Join(urls, ","), "--creds", s.creds)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.process, s.paused = p, false
	return nil
}

// banner is what `jetclaw run` says once it is ready.
var banner = []byte("\n  target ")

const readyPoll = 20 * time.Millisecond

// Ready waits until it says that it runs.
func (s *Service) Ready(ctx context.Context) (time.Time, error) {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if s.IsReady() {
			return time.Now(), nil
		}
		select {
		case <-tick.C:
		case <-s.process.Done():
			return time.Time{}, fmt.Errorf("%s ended before it was ready: %s\n%s", s.Name, endOf(s.process), daemon.Tail(s.Home.LogFile(), 2000))
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s is not ready: %w\n%s", s.Name, context.Cause(ctx), daemon.Tail(s.Home.LogFile(), 2000))
		}
	}
}

// IsReady says whether it has said that it runs.
func (s *Service) IsReady() bool { return bytes.Contains(s.Said(), banner) }

// Said is what this start of it has written so far.
func (s *Service) Said() []byte {
	b, err := os.ReadFile(s.Home.LogFile())
	if err != nil || int64(len(b)) < s.from {
		return nil
	}
	return b[s.from:]
}

// Ended says whether it has ended by itself, and forgets it then.
func (s *Service) Ended() (how string, ended bool) {
	if s.process == nil {
		return "", false
	}
	select {
	case <-s.process.Done():
		how = endOf(s.process)
		s.process.Kill() // what it has left of its group
		s.process = nil
		return how, true
	default:
		return "", false
	}
}

func (s *Service) reap() { _, _ = s.Ended() }

// Kill ends it at once.
func (s *Service) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Stop ends it in order.
func (s *Service) Stop(patience time.Duration) error {
	if s.process == nil {
		return nil
	}
	s.Resume()
	err := s.process.Stop(patience)
	s.process = nil
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// Pause has it stand still.
func (s *Service) Pause() {
	if s.process != nil {
		s.process.Pause()
		s.paused = true
	}
}

// Resume has it go on.
func (s *Service) Resume() {
	if s.process != nil && s.paused {
		s.process.Resume()
		s.paused = false
	}
}

// newLinks starts the proxies between a process and each of the servers.
func newLinks(n *NATS) ([]*wire.Proxy, error) {
	var out []*wire.Proxy
	for _, x := range n.Nodes {
		p, err := wire.Listen(net.JoinHostPort("127.0.0.1", "0"), x.Address)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
