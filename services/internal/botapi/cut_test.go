package botapi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// TestCut lets the connection fail in every way after it was accepted.
func TestCut(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(c net.Conn, in *bufio.Reader)
		class botapi.Class
		code  int
		hangs bool
	}{
		"hangs before reading": {func(_ net.Conn, in *bufio.Reader) { gone(in) }, botapi.Unknown, 0, true},
		"hangs after reading":  {func(_ net.Conn, in *bufio.Reader) { take(in); gone(in) }, botapi.Unknown, 0, true},
		"closes after reading": {func(_ net.Conn, in *bufio.Reader) { take(in) }, botapi.Unknown, 0, false},
		"resets after reading": {func(c net.Conn, in *bufio.Reader) { take(in); reset(c) }, botapi.Unknown, 0, false},
		"half a header":        {func(c net.Conn, in *bufio.Reader) { take(in); say(c, "HTTP/1.1 200 OK\r\nContent-") }, botapi.Unknown, 0, false},
		"not HTTP":             {func(c net.Conn, in *bufio.Reader) { take(in); say(c, "SSH-2.0 "+token+"\r\n") }, botapi.Unknown, 0, false},
		"an echo":              {func(c net.Conn, in *bufio.Reader) { line, _ := in.ReadString('\n'); say(c, line); take(in) }, botapi.Unknown, 0, false},
		"half a body": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"ok\":true")
		}, botapi.Unknown, 200, false},
		"half a body, then hang": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"ok\":true")
			gone(in)
		}, botapi.Unknown, 200, true},
		"half a chunk": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{\"ok\":true")
		}, botapi.Unknown, 200, false},
		"half a no": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 400 Bad\r\nContent-Length: 99\r\n\r\n{\"ok\":false")
		}, botapi.Refused, 400, false},
		"half a 500": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 500 Bad\r\nContent-Length: 99\r\n\r\n{\"ok\":false")
		}, botapi.Unknown, 500, false},
		"half a limit": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 429 Slow\r\nRetry-After: 5\r\nContent-Length: 99\r\n\r\n{\"ok\"")
		}, botapi.Limited, 429, false},
		"switches protocols": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 101 Over\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		}, botapi.Unknown, 101, false},
		"endless header": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20))
		}, botapi.Unknown, 0, false},
		"bad gzip": {func(c net.Conn, in *bufio.Reader) {
			take(in)
			say(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n{\"ok")
		}, botapi.Unknown, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			addr := wire(t, func(conn net.Conn, in *bufio.Reader) {
				conns.Add(1)
				c.serve(conn, in)
			})
			ctx := t.Context()
			if c.hangs {
				short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				ctx = short
			}
			err := send(ctx, client(t, "http://"+addr))
			e := failure(t, err)
			if e.Class != c.class || e.Code != c.code {
				t.Errorf("%s %d, want %s %d", e.Class, e.Code, c.class, c.code)
			}
			if c.hangs != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("says that the caller's time was up: %t", !c.hangs)
			}
			if n := conns.Load(); n != 1 {
				t.Errorf("%d connections: a repeat that nobody asked for", n)
			}
		})
	}
}

func TestNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	plain := wire(t, func(c net.Conn, in *bufio.Reader) { say(c, "220 hello\r\n"); gone(in) })
	silent := wire(t, func(_ net.Conn, in *bufio.Reader) { gone(in) })
	refusing := wire(t, func(c net.Conn, in *bufio.Reader) {
		take(in)
		say(c, "HTTP/1.1 407 "+token+"\r\nContent-Length: 0\r\n\r\n")
	})
	via := func(addr string) func(*http.Request) (*url.URL, error) {
		return http.ProxyURL(&url.URL{Scheme: "http", Host: addr, User: url.UserPassword("me", half)})
	}
	for name, c := range map[string]struct {
		config botapi.Config
		says   string
	}{
		"nobody listens":  {botapi.Config{APIRoot: "http://" + nobody}, "no connection to"},
		"no such host":    {botapi.Config{APIRoot: "http://nowhere.invalid"}, ""}, // where not even a resolver answers, the time is up
		"no TLS":          {botapi.Config{APIRoot: "https://" + plain}, "TLS"},
		"silent TLS":      {botapi.Config{APIRoot: "https://" + silent}, "the time was up"},
		"no proxy":        {botapi.Config{APIRoot: "https://api.invalid", Proxy: via(nobody)}, "no way through the proxy"},
		"a proxy refuses": {botapi.Config{APIRoot: "https://api.invalid", Proxy: via(refusing)}, "the proxy answers HTTP 407"},
		"no proxy to ask": {botapi.Config{APIRoot: "https://api.invalid", Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New(token) }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			c.config.Token = token
			cl, err := botapi.New(c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			e := failure(t, send(ctx, cl))
			if e.Class != botapi.NotSent || e.Code != 0 || !strings.Contains(e.Description, c.says) {
				t.Errorf("%s %d: %s", e.Class, e.Code, e)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(&recorder{results: map[string]string{"getMe": `{"id":7,"is_bot":true,"username":"b"}`}})
	srv.Config.ErrorLog = log.New(t.Output(), "", 0)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	_, err := client(t, srv.URL).GetMe(t.Context())
	if e := failure(t, err); e.Class != botapi.NotSent || !strings.Contains(e.Description, "not trusted") {
		t.Errorf("a certificate that is not trusted: %s", e)
	}
	c, err := botapi.New(botapi.Config{Token: token, APIRoot: srv.URL, TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if u, err := c.GetMe(t.Context()); err != nil || u.ID != 7 || u.Username != "b" {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestEndedBeforeTheCall(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was called") }))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := send(ctx, client(t, srv.URL))
	if e := failure(t, err); e.Class != botapi.NotSent || !errors.Is(err, context.Canceled) {
		t.Errorf("class %s", e.Class)
	}
}

func TestCutByTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := wire(t, func(_ net.Conn, in *bufio.Reader) {
		take(in)
		cancel()
		gone(in)
	})
	err := send(ctx, client(t, "http://"+addr))
	if e := failure(t, err); e.Class != botapi.Unknown || !errors.Is(err, context.Canceled) {
		t.Errorf("class %s", e.Class)
	}
}

// answerOK says that all is well.
func answerOK(c net.Conn) {
	const body = `{"ok":true,"result":{"message_id":1}}`
	say(c, "HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
}

// TestKeptConnectionClosed: the server closes a connection that is kept. Nothing was written, so another one is taken.
func TestKeptConnectionClosed(t *testing.T) {
	var requests atomic.Int32
	closed := make(chan struct{}, 2)
	addr := wire(t, func(c net.Conn, in *bufio.Reader) {
		if !take(in) {
			return
		}
		requests.Add(1)
		answerOK(c)
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Error(err)
		}
		gone(in) // the client has noticed
		closed <- struct{}{}
	})
	c := client(t, "http://"+addr)
	for range 2 {
		if err := send(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		<-closed
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// TestKeptConnectionClosedForGood: then another one is asked for, and there is none. Nothing was sent.
func TestKeptConnectionClosedForGood(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_ = l.Close()
		in := bufio.NewReader(c)
		take(in)
		answerOK(c)
		_ = c.(*net.TCPConn).CloseWrite()
		gone(in) // the client has noticed
	}()
	c := client(t, "http://"+l.Addr().String())
	if err := send(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	<-closed
	if e := failure(t, send(t.Context(), c)); e.Class != botapi.NotSent {
		t.Errorf("class %s", e.Class)
	}
}

// TestKeptConnectionCut: a second request was written to a kept connection. Whether it was done is not known, and nobody but
// the caller may repeat it.
func TestKeptConnectionCut(t *testing.T) {
	for name, cut := range map[string]func(net.Conn){"closed": func(net.Conn) {}, "reset": reset} {
		t.Run(name, func(t *testing.T) {
			var requests, conns atomic.Int32
			addr := wire(t, func(c net.Conn, in *bufio.Reader) {
				conns.Add(1)
				for take(in) {
					if requests.Add(1) == 2 {
						cut(c)
						return
					}
					answerOK(c)
				}
			})
			c := client(t, "http://"+addr)
			if err := send(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if e := failure(t, send(t.Context(), c)); e.Class != botapi.Unknown {
				t.Errorf("class %s", e.Class)
			}
			if requests.Load() != 2 || conns.Load() != 1 {
				t.Errorf("%d requests on %d connections, want 2 on 1", requests.Load(), conns.Load())
			}
		})
	}
}

// TestConnectionsAreKept: many calls one after the other need one connection, and Close gives it up.
func TestConnectionsAreKept(t *testing.T) {
	var conns atomic.Int32
	over := make(chan struct{})
	addr := wire(t, func(c net.Conn, in *bufio.Reader) {
		conns.Add(1)
		for take(in) {
			answerOK(c)
		}
		close(over)
	})
	c := client(t, "http://"+addr)
	for range 20 {
		if err := send(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	<-over
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestPrematureAnswer: a no that comes before the whole request was read is a no.
func TestPrematureAnswer(t *testing.T) {
	addr := wire(t, func(c net.Conn, in *bufio.Reader) {
		if _, err := in.ReadString('\n'); err != nil {
			t.Error(err)
		}
		body := no(413, "Request Entity Too Large")
		say(c, "HTTP/1.1 413 Large\r\nConnection: close\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		_, _ = io.Copy(io.Discard, in) // a reset instead would take the answer away
	})
	_, err := client(t, "http://"+addr).SendMessage(t.Context(), botapi.Send{Chat: 7, Text: strings.Repeat("x", 1<<20)})
	if e := failure(t, err); !e.TooLong() {
		t.Errorf("%s %d", e.Class, e.Code)
	}
}
