package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestGuard(t *testing.T) {
	h := newHouse(t)
	w := h.serveHTTP(h.started(), "claw.example")
	session := w.open(tokenA)
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	path := func(path string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = path } }
	method := func(method string) func(*http.Request) { return func(r *http.Request) { r.Method = method } }
	none := func(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }
	for _, c := range []struct {
		name   string
		body   string
		change func(*http.Request)
		status int
		text   string
	}{
		{"as it should be", initialize, nil, 200, "protocolVersion"},
		{"the name of a proxy", initialize, host("claw.example"), 200, "protocolVersion"},
		{"a page of ours", initialize, with1("Origin", "http://localhost:6274"), 200, "protocolVersion"},
		{"no token", initialize, none("Authorization"), 401, ""},
		{"another token", initialize, with1("Authorization", "Bearer "+tokenA+"x"), 401, "send a valid token"},
		{"another scheme", initialize, with1("Authorization", "Basic "+tokenA), 401, ""},
		{"a foreign host", initialize, host("evil.example"), 403, "unknown Host"},
		{"a foreign host, token or not", initialize, withAll(host("evil.example"), none("Authorization")), 403, "unknown Host"},
		{"a foreign page", initialize, with1("Origin", "https://evil.example"), 403, "Origin"},
		{"a page that does not say", initialize, with1("Origin", "null"), 403, "Origin"},
		{"the root", initialize, path("/"), 404, Endpoint},
		{"below it", initialize, path(Endpoint + "/x"), 404, Endpoint},
		{"5 MB", strings.Replace(initialize, "by hand", strings.Repeat("x", 5<<20), 1), nil, 413, "4194304"},
		{"a batch", "[" + initialize + "]", with1(eraHeader, older), 400, "batches"},
		{"a batch of no version", " \n[" + initialize + "]", nil, 400, "batches"},
		{"a batch of the newest version", "[" + initialize + "]", with1(eraHeader, newest), 400, "batches"},
		{"garbage", "Hello!", nil, 400, "malformed"},
		{"nothing", "", nil, 400, "non-empty"},
		{"half of it", initialize[:40], nil, 400, "malformed"},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"x/y"}`, nil, 400, "x/y"},
		{"a version that there is not", initialize, with1(eraHeader, "1999-01-01"), 400, "version"},
		{"a form", initialize, with1("Content-Type", "text/plain"), 415, "application/json"},
		{"who cannot read the answer", initialize, with1("Accept", "text/html"), 400, "Accept"},
		{"GET without a session", "", method(http.MethodGet), 400, "Mcp-Session-Id"},
		{"GET of the newest version", "", withAll(method(http.MethodGet), with1(eraHeader, newest)), 405, ""},
		{"DELETE without a session", "", method(http.MethodDelete), 400, "Mcp-Session-Id"},
		{"PUT", initialize, method(http.MethodPut), 405, ""},
		{"OPTIONS", "", method(http.MethodOptions), 405, ""},
		{"an unknown session", initialized, with1(idHeader, "nobody"), 404, "session not found"},
		{"another's session", initialized, withAll(with1(idHeader, session), with1("Authorization", "Bearer "+tokenB)), 403, "mismatch"},
		{"its own session", initialized, with1(idHeader, session), 202, ""},
	} {
		status, text, header := w.answer(c.body, c.change)
		if status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %.300s, want %d %s", c.name, status, text, c.status, c.text)
		}
		if strings.Contains(text, tokenA) || strings.Contains(text, tokenB) || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: it says too much: %s %v", c.name, text, header)
		}
	}
}

// TestTokensChange: what is in the file counts at once, for sessions that are open, too.
func TestTokensChange(t *testing.T) {
	h := newHouse(t)
	w := h.serveHTTP(h.started())
	session := w.open(tokenA)
	expect := func(when string, status int, token, id string) {
		t.Helper()
		change, body := with1("Authorization", "Bearer "+token), initialize
		if id != "" {
			change, body = withAll(change, with1(idHeader, id)), initialized
		}
		if got, text, _ := w.answer(body, change); got != status {
			t.Errorf("%s: %d %s, want %d", when, got, text, status)
		}
	}
	const rotated = "a-token-in-place-of-it"
	w.allow("one " + rotated + "\n")
	expect("the old token", 401, tokenA, "")
	expect("the old token, in its session", 401, tokenA, session)
	expect("the new token, in the session of the old one", 403, rotated, session)
	expect("the new token", 200, rotated, "")
	expect("another one that is gone", 401, tokenB, "")
	for _, tokens := range []string{"", "\n\n", "short\n", "one " + tokenA + "\none " + tokenB + "\n", "a b c\n"} {
		w.allow(tokens)
		expect("a file with "+tokens, 401, tokenA, "")
	}
	w.allow(tokenA + "\n")
	expect("a file as it should be", 200, tokenA, "")
	expect("the session of the same token, of another name", 403, tokenA, session)
	if err := os.Chmod(w.tokens, 0o644); err != nil {
		t.Fatal(err)
	}
	expect("a file that everybody can read", 401, tokenA, "")
	if err := os.Remove(w.tokens); err != nil {
		t.Fatal(err)
	}
	expect("no file", 401, tokenA, "")
	w.allow("one " + tokenA + "\n")
	expect("it is back", 202, tokenA, session)
}

// TestBothEras: clients of both eras are at one URL at a time, and hear the same.
func TestBothEras(t *testing.T) {
	h := newHouse(t)
	w := h.serveHTTP(h.started())
	stateful, stateless := w.connect(older, tokenA), w.connect(newest, tokenB)
	if stateful.ID() == "" || stateless.ID() != "" {
		t.Errorf("sessions: %q, %q", stateful.ID(), stateless.ID())
	}
	if v := stateful.InitializeResult().ProtocolVersion; v != older {
		t.Error(v)
	}
	if v := stateless.InitializeResult().ProtocolVersion; v != newest {
		t.Error(v)
	}
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			if got := call(t, stateful, "events_wait", args{"after_cursor": 0}); got.Event == nil || got.Event.Text != "1" {
				t.Errorf("stateful: %+v", got)
			}
		})
		waiting.Go(func() {
			if got := call(t, stateless, "events_wait", args{"after_cursor": 0}); got.Event == nil || got.Event.Text != "1" {
				t.Errorf("stateless: %+v", got)
			}
		})
	}
	h.says(annas, "1")
	waiting.Wait()
	h.says(annas, "2")
	for _, cs := range []interface{ Close() error }{stateful, stateless} {
		if err := cs.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if got := call(t, w.connect("", tokenA), "events_poll", nil); texts(got.Events) != "1,2" {
		t.Errorf("a third one: %+v", got)
	}
}

// TestSlots: only so many requests are open at a time, and who goes away makes room, in the middle of a wait, too.
func TestSlots(t *testing.T) {
	for _, version := range []string{older, newest} {
		t.Run(version, func(t *testing.T) { testSlots(t, version) })
	}
}

func testSlots(t *testing.T, version string) {
	h := newHouse(t)
	b := h.started()
	handlers := make(chan step, 4*maxOpenEach)
	watch(b, handlers)
	w := h.serveHTTP(b)
	ctx, leave := context.WithCancel(t.Context())
	body, change := toolCall("events_wait", `{"timeout_ms":300000}`)
	if version == older {
		body, change = w.sessionCall("events_wait", `{"timeout_ms":300000}`)
	}
	var waiting sync.WaitGroup
	for i := range maxOpenEach {
		waiting.Go(func() {
			res, err := w.ask(ctx, strings.Replace(body, `"id":2`, fmt.Sprintf(`"id":%d`, i+2), 1), change)
			if err != nil {
				return // it has left
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err == nil {
				t.Errorf("a wait has ended by itself: %d", res.StatusCode)
			}
		})
	}
	for range maxOpenEach {
		if got := <-handlers; got != begun {
			t.Fatal(got)
		}
	}
	poll, polls := toolCall("events_poll", `{}`)
	if status, text, _ := w.answer(poll, polls); status != http.StatusTooManyRequests || !strings.Contains(text, fmt.Sprint(maxOpenEach, " requests of this caller")) {
		t.Errorf("one more: %d %s", status, text)
	}
	if status, text, _ := w.answer(poll, withAll(polls, with1("Authorization", "Bearer "+tokenB))); status != http.StatusOK {
		t.Errorf("another client: %d %s", status, text)
	}
	leave()
	waiting.Wait()
	for status := 0; status != http.StatusOK; { // the server learns of it a little later
		status, _, _ = w.answer(poll, polls)
	}
	for n := 0; version == newest && n < maxOpenEach; { // the handlers are told; those of a session may answer another request
		if <-handlers == withdrawn {
			n++
		}
	}
}

// TestSessions: only so many sessions are open at a time, of each token and of all.
func TestSessions(t *testing.T) {
	h := newHouse(t)
	w := h.serveHTTP(h.started())
	tokens := []string{tokenA, tokenB, tokenA + "-3", tokenA + "-4", tokenA + "-5"}
	var file strings.Builder
	for i, token := range tokens {
		fmt.Fprintf(&file, "t%d %s\n", i, token)
	}
	w.allow(file.String())
	refused := func(token, why string) {
		t.Helper()
		status, text, _ := w.answer(initialize, with1("Authorization", "Bearer "+token))
		if status != http.StatusServiceUnavailable || !strings.Contains(text, why) {
			t.Errorf("one more: %d %s", status, text)
		}
	}
	var first string
	for i, token := range tokens[:maxSessions/maxEach] {
		for n := range maxEach {
			if id := w.open(token); i+n == 0 {
				first = id
			}
		}
		if i == 0 {
			refused(token, fmt.Sprint(maxEach, " sessions of this token are open"))
		}
	}
	refused(tokens[4], fmt.Sprint(maxSessions, " sessions are open"))
	if status, text, _ := w.answer(initialized, with1(idHeader, first)); status != http.StatusAccepted {
		t.Errorf("one of them: %d %s", status, text)
	}
	poll, polls := toolCall("events_poll", `{}`)
	if status, text, _ := w.answer(poll, polls); status != http.StatusOK {
		t.Errorf("without a session: %d %s", status, text)
	}
	end := withAll(with1(idHeader, first), func(r *http.Request) { r.Method = http.MethodDelete })
	if status, text, _ := w.answer("", end); status != http.StatusNoContent {
		t.Errorf("the end of one: %d %s", status, text)
	}
	w.open(tokens[4])
}

// TestServeHTTPEnds: a server that is stopped leaves nothing behind, whoever waits.
func TestServeHTTPEnds(t *testing.T) {
	h := newHouse(t)
	b := h.started()
	handlers := make(chan step, 8)
	watch(b, handlers)
	w := h.serveHTTP(b)
	var waiting sync.WaitGroup
	for _, version := range []string{older, newest} {
		cs := w.connect(version, tokenA)
		waiting.Go(func() {
			if got, err := try(t.Context(), cs, "events_wait", args{"timeout_ms": 300_000}); err == nil {
				t.Errorf("%s: %+v", version, got)
			}
		})
		<-handlers
	}
	w.stop()
	waiting.Wait()
}
