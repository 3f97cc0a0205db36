package turns_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// newThief is a server that no request may reach, as each would bring it a key.
func newThief(t *testing.T) string {
	t.Helper()
	var called atomic.Int64
	thief := quietServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	thief.Start()
	t.Cleanup(func() {
		thief.Close()
		if called.Load() > 0 {
			t.Errorf("%d requests went to another host", called.Load())
		}
	})
	return thief.URL
}

// sends answers with a body.
func sends(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// sendsAs answers with a body of some type.
func sendsAs(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// breaks sends a body and then breaks the connection.
func breaks(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// raw writes bytes to the connection as they are and ends it, with a reset if asked for.
func raw(bytes string, reset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, bytes)
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// endless sends a beginning and then the same for ever, with a pause if it is not 0.
func endless(begin, piece string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, begin)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			if pause == 0 {
				continue
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
			}
		}
	}
}

func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func zipped(body string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, body)
	_ = z.Close()
	return b.String()
}

func sendsZipped(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, body)
	}
}

func byBytes(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := range len(body) {
			_, _ = io.WriteString(w, body[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// short are the limits of an agent whose model is given little time.
func short() turn.Limits {
	l := turn.DefaultLimits()
	l.CallTime = shortTime
	return l
}

// Outcomes that many kinds share.
var (
	brokeOff    = want{cause: turnv1.ModelGarbage, says: "broke off", asks: 1}
	unreadable  = want{cause: turnv1.ModelGarbage, says: "could not be read", asks: 1}
	unreachable = want{cause: turnv1.ModelUnavailable, says: "could not be reached", asks: 1}
	tooLarge    = want{cause: turnv1.ModelGarbage, says: "longer than the 8388608 bytes", asks: 1}
	timedOut    = want{cause: turnv1.TimedOut, says: "did not finish its answer within " + shortTime.String()}
	foreign     = want{cause: turnv1.ModelGarbage, says: "does not speak the", asks: 1}
	empty       = want{cause: turnv1.ModelGarbage, says: "was empty", asks: 1}
)

// transportKinds are troubles below the protocol.
func transportKinds(d dialect) []kind {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	good := d.answer("hi")
	answered := want{text: "hi", asks: 1}
	return []kind{
		{name: "reset before the answer", play: raw("", true), want: unreachable},
		{name: "closed before the answer", play: raw("", false), want: unreachable},
		{name: "no HTTP", play: raw("220 mail.example.com ESMTP\r\n", false), want: unreachable},
		{name: "headers without end", play: raw("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 2<<20), false), want: unreachable},
		{name: "slow headers", play: silent, limits: short(), want: timedOut},
		{name: "reset in the text", play: raw(ok+"\r\n"+d.start+d.text("hi"), true), want: brokeOff},
		{name: "broken connection in the text", play: breaks(d.start + d.text("hi")), want: brokeOff},
		{name: "broken connection after a call", play: breaks(d.start + d.call(0, "c1", "look", "{}")), want: brokeOff},
		{name: "broken chunked encoding", play: raw(ok+"Transfer-Encoding: chunked\r\n\r\nZZ\r\n"+good, false), want: brokeOff},
		{name: "broken chunk after text", play: raw(ok+"Transfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\nfffffffffffffffff\r\n", false), want: brokeOff},
		{name: "content length too long", play: raw(ok+"Content-Length: 99999\r\n\r\n"+d.start+d.text("hi"), false), want: brokeOff},
		{name: "content length too short", play: raw(ok+"Connection: close\r\nContent-Length: 40\r\n\r\n"+good, false), want: brokeOff},
		{name: "two content lengths", play: raw(ok+"Content-Length: 40\r\nContent-Length: 50\r\n\r\n"+good, false), want: unreachable},
		{name: "gzip", play: sendsZipped(zipped(good)), want: answered},
		{name: "gzip claimed", play: sendsZipped(good), want: brokeOff},
		{name: "gzip cut", play: sendsZipped(zipped(good)[:60]), want: brokeOff},
		{name: "gzip bomb", play: sendsZipped(zipped(d.start + strings.Repeat(": zero\n", 2<<20))), want: tooLarge},
		{name: "endless keep-alives", play: endless(d.start, ": ping\n\n", 100*time.Millisecond), limits: short(), want: timedOut},
		{name: "endless keep-alives at once", play: endless(d.start, ": ping\n\n", 0), want: tooLarge},
		{name: "endless text", play: endless(d.start, d.text("more and more"), 0), want: tooLarge},
		{name: "slow endless text", play: endless(d.start, d.text("more"), 50*time.Millisecond), limits: short(), want: timedOut},
		{name: "endless empty deltas", play: endless(d.start, d.text(""), 0), want: tooLarge},
		{name: "slow endless empty deltas", play: endless(d.start, d.text(""), 50*time.Millisecond), limits: short(), want: timedOut},
		{name: "endless arguments", play: endless(d.start+d.call(0, "c1", "look", ""), d.call(0, "c1", "look", "x"), 0), want: tooLarge},
		{name: "10 MB in one line", play: sends(d.start + d.text(strings.Repeat("x", 10_000_000)) + d.end("stop")), want: tooLarge},
		{name: "10 MB in many events", play: sends(d.start + strings.Repeat(d.text(strings.Repeat("x", 10_000)), 1000) + d.end("stop")), want: tooLarge},
		{name: "one byte at a time", play: byBytes(good), want: answered},
		{
			name: "connection refused", play: silent, at: "http://127.0.0.1:1/v1",
			want: want{cause: turnv1.ModelUnavailable, says: "(connection refused). Is the model's server running?", stuck: true},
		},
		{
			name: "no such host", play: silent, at: "http://no-such-host.invalid/v1",
			want: want{cause: turnv1.ModelUnavailable, says: "no-such-host.invalid was not found by name", stuck: true},
		},
	}
}

// TestEncryptionMisunderstood speaks TLS to a plain server, nothing to one that wants TLS, and TLS to one that nobody
// vouches for.
func TestEncryptionMisunderstood(t *testing.T) {
	var asked atomic.Int64
	count := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	plain, secure := quietServer(count), quietServer(count)
	plain.Start()
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	stuck := want{cause: turnv1.ModelUnavailable, says: "could not be reached", stuck: true}
	var kinds []kind
	for _, d := range []dialect{openAI, anthropic} {
		kinds = append(
			kinds,
			kind{name: "TLS to plain", at: strings.Replace(plain.URL, "http:", "https:", 1) + "/v1", want: stuck, api: d.api, api2: string(d.api)},
			kind{name: "a certificate of nobody", at: secure.URL + "/v1", want: stuck, api: d.api, api2: string(d.api)},
			kind{
				name: "plain to TLS", at: strings.Replace(secure.URL, "https:", "http:", 1) + "/v1", api: d.api, api2: string(d.api),
				want: want{cause: turnv1.ModelRefused, says: "refused the request (HTTP 400)", stuck: true},
			},
		)
	}
	s := newStage(t, kinds)
	for _, k := range kinds {
		s.tell(t, s.talks[k.agent()], firstSaid, "k1")
	}
	for _, k := range kinds {
		t.Run(k.agent(), func(t *testing.T) { s.run(t, s.talks[k.agent()]) })
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests were understood", asked.Load())
	}
}
