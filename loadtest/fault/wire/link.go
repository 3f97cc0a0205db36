package wire

import (
	"context"
	"net"
	"sync"
	"time"
)

// link is one connection through a proxy.
type link struct {
	proxy  *Proxy
	near   net.Conn // who has connected
	once   sync.Once
	broken chan struct{} // closed with reset

	mu  sync.Mutex
	far net.Conn // guarded by mu; nil until it is dialled
}

const (
	chunk = 16 << 10
	// ahead is how many chunks are read before they may pass: then the sender feels that nobody takes them.
	ahead = 64
)

// piece is what was read at a time; end without data says that the sender has closed.
type piece struct {
	data []byte
	at   time.Time
}

// reset breaks both sides.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.broken)
		hardClose(l.near)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.far != nil {
			hardClose(l.far)
		}
	})
}

func (l *link) run() {
	defer l.proxy.forget(l)
	defer l.reset()
	far, err := (&net.Dialer{Timeout: dialTime}).DialContext(context.Background(), "tcp", l.proxy.target)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.far = far
	l.mu.Unlock()
	select {
	case <-l.broken: // before far was known to it
		hardClose(far)
		return
	default:
	}
	var ways sync.WaitGroup
	ways.Go(func() { l.way(l.near, far, true) })
	ways.Go(func() { l.way(far, l.near, false) })
	ways.Wait()
}

// way passes one direction on until it ends or the link is broken.
func (l *link) way(from, to net.Conn, up bool) {
	queue := make(chan piece, ahead)
	var reader sync.WaitGroup
	reader.Go(func() { l.read(from, queue) })
	for p := range queue {
		if !l.pass(p, to, up) {
			l.reset()
			break
		}
	}
	for range queue { // the reader may wait
	}
	reader.Wait()
}

func (l *link) read(from net.Conn, queue chan<- piece) {
	defer close(queue)
	for {
		buf := make([]byte, chunk)
		n, err := from.Read(buf)
		if n > 0 {
			queue <- piece{buf[:n], time.Now()}
		}
		if err != nil {
			queue <- piece{at: time.Now()}
			return
		}
	}
}

// pass brings a piece over as the fault of the moment wants it; false when the link is broken.
func (l *link) pass(p piece, to net.Conn, up bool) bool {
	w, ok := l.mayPass(p.at, up)
	if !ok {
		return false
	}
	if p.data == nil {
		if t, ok := to.(*net.TCPConn); ok {
			return t.CloseWrite() == nil
		}
		return false
	}
	for data := p.data; len(data) > 0; {
		n := len(data)
		if w.Slow > 0 {
			n = min(n, max(1, w.Slow/10))
			if !l.sleep(time.Duration(n) * time.Second / time.Duration(w.Slow)) {
				return false
			}
		}
		if _, err := to.Write(data[:n]); err != nil {
			return false
		}
		l.proxy.count(n, up)
		if data = data[n:]; len(data) > 0 {
			if w, ok = l.mayPass(p.at, up); !ok {
				return false
			}
		}
	}
	return true
}

// mayPass waits until what was read at a time may pass.
func (l *link) mayPass(at time.Time, up bool) (Way, bool) {
	for {
		f, changed := l.proxy.state()
		w := f.Down
		if up {
			w = f.Up
		}
		var due <-chan time.Time
		var timer *time.Timer
		if !w.Cut {
			rest := time.Until(at.Add(w.Delay))
			if rest <= 0 {
				return w, true
			}
			timer = time.NewTimer(rest)
			due = timer.C
		}
		select {
		case <-due:
		case <-changed:
		case <-l.broken:
		}
		if timer != nil {
			timer.Stop()
		}
		select {
		case <-l.broken:
			return w, false
		default:
		}
	}
}

func (l *link) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.broken:
		return false
	}
}
