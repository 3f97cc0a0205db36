package telegram

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

const hookSecret = "Hook-secret_" + whisper

// freeAddr is an address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// tunnel brings what Telegram sends to https://bot.example to the listener.
type tunnel struct{ to string }

func (p tunnel) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", p.to
	return http.DefaultTransport.RoundTrip(r)
}

// hooked starts a channel with a webhook.
func hooked(t *testing.T, h *house, change ...func(*Config)) (*running, *faketelegram.Server, string) {
	t.Helper()
	addr := freeAddr(t)
	s := fake(t, faketelegram.Options{Transport: tunnel{addr}, WebhookRetry: 5 * time.Millisecond})
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	r := run(t, h, s.URL(), append([]func(*Config){func(c *Config) {
		c.Bots[0].Webhook = &Webhook{URL: "https://bot.example/in/here", Listen: addr, Secret: hookSecret}
	}}, change...)...)
	return r, s, addr
}

func TestWebhook(t *testing.T) {
	h := newHouse()
	var fail atomic.Int32
	fail.Store(3)
	h.submit = func(context.Context, wire.Request) error {
		if fail.Add(-1) >= 0 {
			return fault.New(fault.Unavailable, "not now")
		}
		return nil
	}
	r, s, _ := hooked(t, h)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("%02d", i))
		s.Say("", faketelegram.Private(ann), ann, want[i])
	}
	h.waitFor(t, 20)
	confirmed(t, s)
	if got := h.texts(annSession); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if st := r.States()[0]; st.Status != Hooked || st.LastUpdate == 0 {
		t.Errorf("state %+v", st)
	}
	if s.Report().HookErrors != 0 || s.Report().Polls != 0 {
		t.Errorf("%+v", s.Report())
	}
	// An update that cannot be read is kept, and taken.
	s.Inject([]byte(`{"message":{"message_id":"x"}}`))
	s.Inject([]byte(`{"update_id":"x"}`))
	h.wait(t, "two are kept aside", func() bool { return len(h.bad) == 2 })
	confirmed(t, s)
}

// Nothing is answered with 200 before it is done; what is not done in time comes again, and is the same.
func TestWebhookIsDurableFirst(t *testing.T) {
	h := newHouse()
	entered, open := make(chan struct{}, 10), make(chan struct{})
	h.submit = func(ctx context.Context, _ wire.Request) error {
		entered <- struct{}{}
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return fault.New(fault.Timeout, "stopped")
		}
	}
	_, s, addr := hooked(t, h, func(c *Config) { c.Pace.Durable = 50 * time.Millisecond })
	s.Say("", faketelegram.Private(ann), ann, "hello")
	<-entered
	until(t, s, "two 503", func(s *faketelegram.Server) bool { return s.Report().HookErrors >= 2 })
	if s.Report().Confirmed != 0 {
		t.Fatal("it is taken, and is not done")
	}
	close(open)
	confirmed(t, s)
	if got := h.texts(""); len(got) != 1 || len(entered) != 0 {
		t.Errorf("%v, %d more tries", got, len(entered))
	}
	// It comes once more, later: known.
	u := fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001},"text":"hello"}}`, 870000001)
	if got := post(t, addr, "/in/here", hookSecret, "application/json", strings.NewReader(u)); got != http.StatusOK || len(entered) != 0 {
		t.Errorf("status %d, %d tries", got, len(entered))
	}
}

func post(t *testing.T, addr, path, secret, kind string, body io.Reader) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if secret != "" {
		r.Header.Set(secretHeader, secret)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestWebhookRefuses(t *testing.T) {
	h := newHouse()
	_, s, addr := hooked(t, h)
	_ = s
	u := `{"update_id":5,"message":{"message_id":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001},"text":"hello"}}`
	for _, tc := range []struct {
		name, path, secret, kind string
		body                     io.Reader
		want                     int
	}{
		{"no secret", "/in/here", "", "application/json", strings.NewReader(u), 401},
		{"wrong secret", "/in/here", hookSecret + "x", "application/json", strings.NewReader(u), 401},
		{"half a secret", "/in/here", hookSecret[:5], "application/json", strings.NewReader(u), 401},
		{"another path", "/in", hookSecret, "application/json", strings.NewReader(u), 404},
		{"a form", "/in/here", hookSecret, "application/x-www-form-urlencoded", strings.NewReader(u), 415},
		{"no type", "/in/here", hookSecret, "", strings.NewReader(u), 415},
		{"large", "/in/here", hookSecret, "application/json", strings.NewReader(strings.Repeat("x", maxBody+1)), 413},
		{"large, of unknown length", "/in/here", hookSecret, "application/json", io.MultiReader(strings.NewReader(strings.Repeat("x", maxBody+1))), 413},
		{"with charset", "/in/here", hookSecret, "application/json; charset=utf-8", strings.NewReader(u), 200},
	} {
		if got := post(t, addr, tc.path, tc.secret, tc.kind, tc.body); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	h.waitFor(t, 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/in/here", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(secretHeader, hookSecret)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", res.StatusCode)
	}
}

// The secret is looked at before the body is there, and a body that does not come is not waited for.
func TestWebhookSlowBody(t *testing.T) {
	h := newHouse()
	_, _, addr := hooked(t, h)
	for secret, want := range map[string]string{"wrong": "401", hookSecret: "408"} {
		began := time.Now()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /in/here HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: 500\r\n\r\n{", secretHeader, secret)
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%q, %v; want %s", line, err, want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", want, took)
		}
		c.Close()
	}
	if len(h.texts("")) != 0 {
		t.Error("half a request was taken")
	}
}

// Two bots may share a listener; an address that is taken is said.
func TestWebhookListener(t *testing.T) {
	const second = "5:another-token-of-the-fake-Bot-API"
	h := newHouse()
	_, _, addr := hooked(t, h, func(c *Config) {
		c.Bots = append(c.Bots, Bot{Account: "two", Agent: "main", Token: second, APIRoot: c.Bots[0].APIRoot, Webhook: &Webhook{
			URL: "https://bot.example/other", Listen: c.Bots[0].Webhook.Listen, Secret: "other",
		}})
	})
	if got := post(t, addr, "/other", hookSecret, "application/json", strings.NewReader("{}")); got != 401 {
		t.Errorf("the secret of one bot at the other: %d", got)
	}
	// The fake does not know the second token: the bot is refused, and takes nothing.
	if got := post(t, addr, "/other", "other", "application/json", strings.NewReader(`{"update_id":4}`)); got != 503 {
		t.Errorf("a bot that is refused: %d", got)
	}
	ch, err := New(Config{Desk: h, Log: slogNone(), Bots: []Bot{{Account: "x", Agent: "main", Token: second, Webhook: &Webhook{
		URL: "https://bot.example/", Listen: addr, Secret: "x",
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	err = ch.Run(t.Context())
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), addr) {
		t.Errorf("a taken address: %v", err)
	}
	if err := ch.Ready(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("ready: %v", err)
	}
}

func TestConfig(t *testing.T) {
	good := func() Config {
		return Config{Desk: newHouse(), Log: slogNone(), Bots: []Bot{{
			Account: "bot", Agent: "main", Token: faketelegram.DefaultToken,
			Webhook: &Webhook{URL: "https://bot.example/x", Listen: "127.0.0.1:8443", Secret: "s"},
		}}}
	}
	if _, err := New(good()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"desk":              func(c *Config) { c.Desk = nil },
		"logger":            func(c *Config) { c.Log = nil },
		"name of bot":       func(c *Config) { c.Bots[0].Account = "a.b" },
		"agent":             func(c *Config) { c.Bots[0].Agent = "" },
		"given twice":       func(c *Config) { c.Bots = append(c.Bots, c.Bots[0]) },
		"the same token":    func(c *Config) { c.Bots = append(c.Bots, c.Bots[0]); c.Bots[1].Account = "b" },
		"token":             func(c *Config) { c.Bots[0].Token = "" },
		"control character": func(c *Config) { c.Bots[0].Token += "\n" },
		"api_root":          func(c *Config) { c.Bots[0].APIRoot = "ftp://x" },
		"webhook.url":       func(c *Config) { c.Bots[0].Webhook.URL = "bot.example" },
		"webhook.listen":    func(c *Config) { c.Bots[0].Webhook.Listen = "8443" },
		"webhook.secret":    func(c *Config) { c.Bots[0].Webhook.Secret = "" },
		"the same webhook": func(c *Config) {
			c.Bots = append(c.Bots, c.Bots[0])
			c.Bots[1].Account, c.Bots[1].Token = "b", "5:another-token"
		},
		"A-Z, a-z, 0-9, _":   func(c *Config) { c.Bots[0].Webhook.Secret = "ä" },
		"without ? and #":    func(c *Config) { c.Bots[0].Webhook.URL += "?x=1" },
		"channels.telegram.": func(c *Config) { c.Bots[0].Token = "nonsense" },
	} {
		c := good()
		change(&c)
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if p := (Pace{Short: time.Minute}).orDefault(); p.Short != time.Minute || p.Poll != 50*time.Second || p.Durable != 50*time.Second {
		t.Errorf("%+v", p)
	}
}

// The channel starts and stops at any moment, and leaves nothing behind.
func TestStartStop(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.policy = access.Policy{Mode: access.Open}
	for i := range 20 {
		s.Say("", faketelegram.Private(ann), ann, fmt.Sprint(i), faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg)}))
		r := run(t, h, s.URL())
		pause(t.Context(), time.Duration(i)*time.Millisecond)
		r.stop(t)
	}
	run(t, h, s.URL())
	h.waitFor(t, 20)
	confirmed(t, s)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	if got := h.texts(annSession); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
