package callback_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/callback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "s3cret-token"

var item = channel.Item{
	Session: "main.http.web.anna", Delivery: "d1", Attempt: 2, Repeat: true,
	Kind: "turn.completed", Text: "hello", Answers: []string{"m1", "m2"},
}

func sender(t *testing.T, url string) *callback.Sender {
	t.Helper()
	s, err := callback.New(callback.Config{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSendPostsTheItem(t *testing.T) {
	var got *http.Request
	var body map[string]any
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	receipt, err := sender(t, srv.URL+"/hook?x=1").Send(t.Context(), item)
	if err != nil || receipt.ID != "d1" {
		t.Fatalf("receipt %+v, %v", receipt, err)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/hook?x=1" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + token, "Idempotency-Key": "d1", "Content-Type": "application/json",
	} {
		if h := got.Header.Get(name); h != want {
			t.Errorf("%s is %q, want %q", name, h, want)
		}
	}
	want := map[string]any{
		"session": "main.http.web.anna", "delivery": "d1", "attempt": 2.0, "repeat": true,
		"kind": "turn.completed", "text": "hello", "answers": []any{"m1", "m2"},
	}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("body %v, want %v", body, want)
	}
}

// TestSendNamesTheApproval: "approval" is there for what is about one, and only for that.
func TestSendNamesTheApproval(t *testing.T) {
	var body map[string]any
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	asked := item
	asked.Kind, asked.Approval, asked.Answers = "approval.requested", "abcdefghij2", nil
	if _, err := sender(t, srv.URL).Send(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"session": "main.http.web.anna", "delivery": "d1", "attempt": 2.0, "repeat": true,
		"kind": "approval.requested", "text": "hello", "answers": []any{}, "approval": "abcdefghij2",
	}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("body %v, want %v", body, want)
	}
}

func TestReceipt(t *testing.T) {
	for name, c := range map[string]struct {
		header, body, want string
	}{
		"nothing":         {"", "", "d1"},
		"header":          {"r-7", `{"receipt":"other"}`, "r-7"},
		"json":            {"", `{"receipt":"r-8","more":1}`, "r-8"},
		"not json":        {"", "OK", "d1"},
		"json, no string": {"", `{"receipt":8}`, "d1"},
		"too long":        {"", `{"receipt":"` + strings.Repeat("x", 300) + `"}`, "d1"},
		"control bytes":   {"", `{"receipt":"a\nb"}`, "d1"},
		"endless":         {"", `{"receipt":"r","x":"` + strings.Repeat("x", 1<<20) + `"}`, "d1"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.header != "" {
					w.Header().Set("Receipt", c.header)
				}
				_, _ = io.WriteString(w, c.body) // the client stops reading an endless one
			}))
			defer srv.Close()
			got, err := sender(t, srv.URL).Send(t.Context(), item)
			if err != nil || got.ID != c.want {
				t.Fatalf("receipt %+v, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		code     int
		after    string
		class    channel.Class
		min, max time.Duration
	}{
		"400":                 {400, "", channel.Permanent, 0, 0},
		"401":                 {401, "", channel.Permanent, 0, 0},
		"404":                 {404, "5", channel.Permanent, 0, 0},
		"410":                 {410, "", channel.Permanent, 0, 0},
		"408":                 {408, "", channel.Retry, 0, 0},
		"425":                 {425, "", channel.Retry, 0, 0},
		"429":                 {429, "", channel.Retry, 0, 0},
		"429, seconds":        {429, "7", channel.Retry, 7 * time.Second, 7 * time.Second},
		"429, date":           {429, in(time.Minute), channel.Retry, 50 * time.Second, time.Minute},
		"429, past":           {429, in(-time.Minute), channel.Retry, 0, 0},
		"429, for ever":       {429, "9223372036854775807", channel.Retry, 7 * 24 * time.Hour, 7 * 24 * time.Hour},
		"429, nonsense":       {429, "-3", channel.Retry, 0, 0},
		"500":                 {500, "", channel.Retry, 0, 0},
		"503, seconds":        {503, "3", channel.Retry, 3 * time.Second, 3 * time.Second},
		"301":                 {301, "", channel.Permanent, 0, 0},
		"307":                 {307, "", channel.Permanent, 0, 0},
		"switching protocols": {101, "", channel.Permanent, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				w.Header().Set("Location", "/elsewhere")
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.code)
				if c.code != 101 {
					_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization"))
				}
			}))
			defer srv.Close()
			e := failure(t.Context(), t, sender(t, srv.URL))
			if e.Class != c.class || e.After < c.min || e.After > c.max {
				t.Errorf("%s after %s, want %s after %s to %s", e.Class, e.After, c.class, c.min, c.max)
			}
			if calls.Load() != 1 {
				t.Errorf("called %d times", calls.Load())
			}
		})
	}
}

// failure sends and expects a classified error that tells no secret.
func failure(ctx context.Context, t *testing.T, s *callback.Sender) *channel.Error {
	t.Helper()
	receipt, err := s.Send(ctx, item)
	var e *channel.Error
	if !errors.As(err, &e) {
		t.Fatalf("receipt %+v, error %v", receipt, err)
	}
	if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("the error tells a secret: %v", err)
	}
	t.Log(err)
	return e
}

func TestNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if e := failure(t.Context(), t, sender(t, "http://"+addr+"/?key=hidden")); e.Class != channel.Retry {
		t.Errorf("refused: %s", e.Class)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // where even the resolver cannot be reached
	defer cancel()
	if e := failure(ctx, t, sender(t, "http://nowhere.invalid/?key=hidden")); e.Class != channel.Retry {
		t.Errorf("no such host: %s", e.Class)
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ErrorLog = log.New(t.Output(), "", 0)
	srv.StartTLS()
	defer srv.Close()
	if e := failure(t.Context(), t, sender(t, srv.URL)); e.Class != channel.Retry {
		t.Errorf("a certificate that is not trusted: %s", e.Class)
	}
	trusting, err := callback.New(callback.Config{
		URL: srv.URL, TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig,
	})
	if err != nil {
		t.Fatal(err)
	}
	if receipt, err := trusting.Send(t.Context(), item); err != nil || receipt.ID != "d1" {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
}

func TestTimeIsUpBeforeTheCall(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was called") }))
	defer srv.Close()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if e := failure(ctx, t, sender(t, srv.URL)); e.Class != channel.Retry {
		t.Errorf("class %s", e.Class)
	}
}

// TestCut lets the connection fail in every way after it was accepted.
func TestCut(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(t *testing.T, c net.Conn)
		class channel.Class
		hangs bool
	}{
		"hangs before reading": {func(_ *testing.T, c net.Conn) { wait(c) }, channel.Unknown, true},
		"hangs after reading":  {func(t *testing.T, c net.Conn) { read(t, c); wait(c) }, channel.Unknown, true},
		"closes after reading": {func(t *testing.T, c net.Conn) { read(t, c) }, channel.Unknown, false},
		"resets after reading": {func(t *testing.T, c net.Conn) {
			read(t, c)
			if err := c.(*net.TCPConn).SetLinger(0); err != nil {
				t.Error(err)
			}
		}, channel.Unknown, false},
		"half an answer": {func(t *testing.T, c net.Conn) { read(t, c); say(t, c, "HTTP/1.1 200 OK\r\nContent-") }, channel.Unknown, false},
		"an echo":        {func(t *testing.T, c net.Conn) { say(t, c, read(t, c)) }, channel.Unknown, false},
		"endless header": {func(t *testing.T, c net.Conn) {
			read(t, c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)) // the client hangs up
		}, channel.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var calls atomic.Int32
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					calls.Add(1)
					c.serve(t, conn)
					_ = conn.Close() // already reset or hung up by the other side, in some of the cases
				}
			}()
			ctx := t.Context()
			if c.hangs {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = short
			}
			e := failure(ctx, t, sender(t, "http://"+l.Addr().String()+"/?key=hidden"))
			if e.Class != c.class {
				t.Errorf("class %s, want %s", e.Class, c.class)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			<-done
			if n := calls.Load(); n != 1 {
				t.Errorf("called %d times: a repeat that nobody recorded", n)
			}
		})
	}
}

// TestTakenThenCut: the status has said that it arrived.
func TestTakenThenCut(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, `{"rec`) // what follows is cut off on purpose
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	if receipt, err := sender(t, srv.URL).Send(t.Context(), item); err != nil || receipt.ID != "d1" {
		t.Fatalf("receipt %+v, %v", receipt, err)
	}
}

func TestCutByTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil { // only then does the server notice that the client is gone
			t.Error(err)
		}
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	if e := failure(ctx, t, sender(t, srv.URL)); e.Class != channel.Unknown {
		t.Errorf("class %s", e.Class)
	}
}

// read takes a whole request.
func read(t *testing.T, c net.Conn) string {
	var all strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(all.String(), `"answers":["m1","m2"]}`) {
		n, err := c.Read(buf)
		if err != nil {
			t.Errorf("read: %v", err)
			break
		}
		all.Write(buf[:n])
	}
	return all.String()
}

func say(t *testing.T, c net.Conn, s string) {
	if _, err := io.WriteString(c, s); err != nil {
		t.Errorf("write: %v", err)
	}
}

// wait returns when the other side hangs up.
func wait(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]callback.Config{
		"nothing":        {},
		"no URL":         {URL: "hook"},
		"another scheme": {URL: "ftp://example.com/"},
		"no host":        {URL: "http:///hook"},
		"not readable":   {URL: "http://[::hidden"},
		"a password":     {URL: "http://me:hidden@example.com/"},
		"a bad token":    {URL: "http://example.com/", Token: "hidden\r\nX: y"},
	} {
		if _, err := callback.New(c); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
