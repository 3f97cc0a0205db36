package wire_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/loadtest/fault/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo repeats on each connection what it reads.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func proxy(t *testing.T) *wire.Proxy {
	t.Helper()
	p, err := wire.Listen("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *wire.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v, want %q", got, err, want)
	}
}

// silent says that nothing comes for a moment.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes, %v", n, err)
	}
}

func TestEverythingPassesInBothDirections(t *testing.T) {
	p := proxy(t)
	c := dial(t, p)
	text := strings.Repeat("0123456789", 50_000)
	go func() { _, _ = io.WriteString(c, text) }()
	hear(t, c, text)
	if n := p.Counts(); n.Links != 1 || n.Up != int64(len(text)) || n.Down != int64(len(text)) {
		t.Errorf("%+v", n)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v behind the end", n, err)
	}
}

func TestACutKeepsBackAndHealsInOrder(t *testing.T) {
	for _, f := range []wire.Fault{wire.Cut(), {Up: wire.Way{Cut: true}}, {Down: wire.Way{Cut: true}}} {
		p := proxy(t)
		c := dial(t, p)
		say(t, c, "a")
		hear(t, c, "a")
		p.Set(f)
		say(t, c, "bc")
		silent(t, c)
		say(t, c, "d")
		p.Set(wire.Fault{})
		hear(t, c, "bcd")
	}
}

func TestACutHidesThatOneEndIsGone(t *testing.T) {
	p := proxy(t)
	c := dial(t, p)
	say(t, c, "a")
	hear(t, c, "a")
	p.Set(wire.Fault{Down: wire.Way{Cut: true}})
	_ = c.(*net.TCPConn).CloseWrite() // the server closes then
	silent(t, c)
	p.Set(wire.Fault{})
	_ = c.SetReadDeadline(time.Time{})
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestAnAnswerThatIsLost(t *testing.T) {
	p := proxy(t)
	c := dial(t, p)
	say(t, c, "a")
	hear(t, c, "a")
	p.Set(wire.Fault{Down: wire.Way{Cut: true}})
	before := p.Counts().Up
	say(t, c, "bcd")
	for p.Counts().Up < before+3 { // it was asked
		if t.Context().Err() != nil {
			t.Fatal("it never arrived")
		}
	}
	if n := p.Reset(); n != 1 {
		t.Errorf("%d links", n)
	}
	p.Set(wire.Fault{})
	if n, err := c.Read(make([]byte, 1)); err == nil || n != 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	c = dial(t, p)
	say(t, c, "x")
	hear(t, c, "x")
}

func TestRefusedConnections(t *testing.T) {
	p := proxy(t)
	old := dial(t, p)
	say(t, old, "a")
	hear(t, old, "a")
	p.Set(wire.Fault{Refuse: true})
	c := dial(t, p)
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	say(t, old, "b")
	hear(t, old, "b")
}

func TestDelayAndThrottleLoseNothing(t *testing.T) {
	p := proxy(t)
	c := dial(t, p)
	p.Set(wire.Late(20 * time.Millisecond))
	began := time.Now()
	say(t, c, "abc")
	hear(t, c, "abc")
	if took := time.Since(began); took < 40*time.Millisecond {
		t.Errorf("after %s", took)
	}
	p.Set(wire.Slow(1000))
	began = time.Now()
	say(t, c, strings.Repeat("x", 50))
	hear(t, c, strings.Repeat("x", 50))
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("after %s", took)
	}
}

func TestATargetThatIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := l.Addr().String()
	_ = l.Close()
	p, err := wire.Listen("127.0.0.1:0", away)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil { // it was reset at once
		return
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("somebody answers")
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for want, f := range map[string]wire.Fault{
		"free": {}, "cut": wire.Cut(), "5ms late": wire.Late(5 * time.Millisecond), "down cut": {Down: wire.Way{Cut: true}},
		"100 B/s, refused": {Up: wire.Way{Slow: 100}, Down: wire.Way{Slow: 100}, Refuse: true},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
