package cli

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// callback is where the browser comes back to after a login: a listener on this machine, for one answer.
type callback struct {
	url     string // "": what is configured leads elsewhere
	trouble string // why nobody listens, "" when somebody does
	server  *http.Server
	served  sync.WaitGroup

	mu    sync.Mutex
	state string // guarded by mu; "": no login has begun
	got   chan returned
}

// returned is what has come back: an answer, or why there is none.
type returned struct {
	oauthAnswer
	err error
}

// callbackPath is where the browser comes back to when nothing is configured.
const callbackPath = "/callback"

// listenForCode listens on this machine: on the port of the redirect URL that is configured, or on any. When that is not on this
// machine, or its port is taken, nobody listens and the code has to be brought by the person.
func listenForCode(ctx context.Context, configured string) (*callback, error) {
	b := &callback{got: make(chan returned, 1)}
	host, path := "127.0.0.1:0", callbackPath
	if configured != "" {
		u, err := url.Parse(configured)
		if err != nil {
			return nil, errors.New("oauth.redirectUrl cannot be read")
		}
		b.url = configured
		if !onThisMachine(u) {
			b.trouble = "the browser comes back to " + u.Host + ", not to this machine"
			return b, nil
		}
		port := u.Port()
		if port == "" {
			port = "80"
		}
		host, path = net.JoinHostPort(loopbackOf(u.Hostname()), port), u.EscapedPath()
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", host)
	if err != nil && configured != "" {
		b.trouble = fmt.Sprintf("nobody can wait for the browser at oauth.redirectUrl: %s", err)
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w", err)
	}
	if configured == "" {
		b.url = "http://" + l.Addr().String() + path
	}
	if path == "" {
		path = "/"
	}
	b.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(w, r, path) }), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
	}
	b.server.SetKeepAlivesEnabled(false)
	b.served.Go(func() { _ = b.server.Serve(l) }) // it ends with close
	return b, nil
}

// onThisMachine says whether a URL is one that this process can listen at.
func onThisMachine(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// loopbackOf is the address to listen at: localhost may be looked up as another one.
func loopbackOf(host string) string {
	if host == "localhost" {
		return "127.0.0.1"
	}
	return host
}

func (b *callback) waits() bool { return b.server != nil }

// expect says which login is waited for. What comes for another one is refused.
func (b *callback) expect(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

func (b *callback) expected() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// serve takes the answer. Nothing of what comes in is repeated in a page.
func (b *callback) serve(w http.ResponseWriter, r *http.Request, path string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	page := func(status int, text string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<!doctype html><title>jetclaw</title><p>"+text+"</p>\n") // whoever has gone needs no page
	}
	q := r.URL.Query()
	state := b.expected()
	switch {
	case r.URL.EscapedPath() != path:
		page(http.StatusNotFound, "There is nothing here.")
		return
	case r.Method != http.MethodGet:
		page(http.StatusMethodNotAllowed, "There is nothing here.")
		return
	case state == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1:
		page(http.StatusBadRequest, "This is not the login that jetclaw waits for. Run jetclaw mcp login again.")
		return
	}
	answer := returned{oauthAnswer: oauthAnswer{code: q.Get("code"), state: state, issuer: q.Get("iss")}}
	text := "jetclaw has the answer. You can close this window and go back to the terminal."
	switch {
	case q.Has("error"):
		text = "The login was refused. You can close this window; the terminal says more."
		answer.err = fmt.Errorf("the login was refused: %s", oneLine(q.Get("error")+" "+q.Get("error_description")))
	case answer.code == "" || len(answer.code) > longestCode:
		page(http.StatusBadRequest, "The answer has no code. Run jetclaw mcp login again.")
		return
	}
	select {
	case b.got <- answer:
	default: // the first one counts
	}
	page(http.StatusOK, text)
}

// wait waits for the browser, or for a person who pastes what it has ended at.
func (b *callback) wait(ctx context.Context, typed <-chan string) (oauthAnswer, error) {
	for {
		select {
		case a := <-b.got:
			return a.oauthAnswer, a.err
		case line := <-typed:
			if a, err := typedCode(line); err == nil {
				return a, nil
			}
		case <-ctx.Done():
			return oauthAnswer{}, context.Cause(ctx)
		}
	}
}

// close ends the listener, once the page has been sent.
func (b *callback) close() {
	if b.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close() // whoever still holds a connection gets no more
	}
	b.served.Wait()
}
