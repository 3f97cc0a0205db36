package wire

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy passes what comes to its address on to another one. Its methods may be called from any goroutine.
type Proxy struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu      sync.Mutex
	fault   Fault          // guarded by mu
	changed chan struct{}  // guarded by mu; closed and replaced with each fault
	links   map[*link]bool // guarded by mu
	closed  bool           // guarded by mu
	counts  Counts         // guarded by mu
}

// Counts are what has passed so far.
type Counts struct {
	Links    int   `json:"links"`
	Up, Down int64 // bytes that have arrived
}

const dialTime = 5 * time.Second

// Listen starts a proxy on an address ("127.0.0.1:0") before a target. The target need not be there.
func Listen(addr, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", target, err)
	}
	p := &Proxy{listener: l, target: target, changed: make(chan struct{}), links: map[*link]bool{}}
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set replaces the fault.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// Fault is what holds now.
func (p *Proxy) Fault() Fault {
	f, _ := p.state()
	return f
}

func (p *Proxy) state() (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.changed
}

// Reset breaks all connections that are there, and says how many these were.
func (p *Proxy) Reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	return len(p.links)
}

// Counts is what has passed so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close breaks everything and waits until nothing of it runs.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.closed || p.fault.Refuse {
			p.mu.Unlock()
			hardClose(c)
			continue
		}
		l := &link{proxy: p, near: c, broken: make(chan struct{})}
		p.links[l] = true
		p.counts.Links++
		p.mu.Unlock()
		p.work.Go(l.run)
	}
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) count(n int, up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if up {
		p.counts.Up += int64(n)
	} else {
		p.counts.Down += int64(n)
	}
}

// hardClose resets a connection instead of ending it in order.
func hardClose(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
