package httpapi

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

const (
	tokenA = "aaaaaaaaaaaaaaaaaaaa"
	tokenB = "bbbbbbbbbbbbbbbbbbbb"
)

func TestConfigValidate(t *testing.T) {
	ok := Config{Listen: "127.0.0.1:0", Tokens: map[string]string{"a": tokenA, "b": tokenB}}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"good", func(*Config) {}, ""},
		{"by name", func(c *Config) { c.Listen = "localhost:7450" }, ""},
		{"IPv6", func(c *Config) { c.Listen = "[::1]:7450" }, ""},
		{"no port", func(c *Config) { c.Listen = "127.0.0.1" }, "want host:port"},
		{"all addresses", func(c *Config) { c.Listen = ":7450" }, "not a loopback"},
		{"public", func(c *Config) { c.Listen = "192.0.2.1:7450" }, "not a loopback"},
		{"public with a certificate", func(c *Config) { c.Listen, c.Certificate, c.Key = "192.0.2.1:7450", "c.pem", "k.pem" }, ""},
		{"half a pair", func(c *Config) { c.Certificate = "c.pem" }, "belong together"},
		{"no tokens", func(c *Config) { c.Tokens = nil }, "no token"},
		{"short", func(c *Config) { c.Tokens = map[string]string{"a": "secret"} }, `"a": at least 16`},
		{"spaces", func(c *Config) { c.Tokens = map[string]string{"a": tokenA + " "} }, `"a": at least 16`},
		{"no name", func(c *Config) { c.Tokens = map[string]string{"": tokenA} }, "name of token"},
		{"twice", func(c *Config) { c.Tokens = map[string]string{"a": tokenA, "b": tokenA} }, "are the same"},
		{"wait", func(c *Config) { c.DecisionWait = -time.Second }, "want more than 0"},
		{"long wait", func(c *Config) { c.DecisionWait = time.Hour }, "at most 2m0s"},
		{"stall", func(c *Config) { c.Stall = -time.Second }, "want more than 0"},
	} {
		c := ok
		tc.change(&c)
		err := c.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if err != nil && (strings.Contains(err.Error(), tokenA) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: the error has the token: %v", tc.name, err)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	s := &Server{callers: callersOf(map[string]string{"a": tokenA, "b": tokenB})}
	for header, want := range map[string]string{
		"":                              "",
		"Bearer " + tokenA:              "a",
		"bearer " + tokenB:              "b",
		"Bearer  " + tokenB:             "b",
		"Basic " + tokenA:               "",
		"Bearer":                        "",
		"Bearer\t":                      "",
		tokenA:                          "",
		"Bearer " + tokenA[:19]:         "",
		"Bearer " + tokenA + "a":        "",
		"Bearer " + tokenA + " " + "b":  "",
		"Bearer " + tokenA + "," + "b,": "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		if who, ok := s.authenticate(r); who.name != want || ok != (want != "") {
			t.Errorf("%q is %q, %v", header, who.name, ok)
		}
	}
}

func TestKnownHost(t *testing.T) {
	s := &Server{hosts: hostsOf("127.0.0.2:7450", []string{"Claw.Example"})}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:7450": true, "127.0.0.1:1": true, "127.0.0.2": true, "[::1]:7450": true, "[::1]": true,
		"claw.example:443": true, "": false, "evil.example": false, "localhost.evil.example:7450": false,
		"127.0.0.1.evil.example": false, "192.0.2.1": false,
	} {
		if got := s.knownHost(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestCallerSession(t *testing.T) {
	who := caller{name: "my app"}
	for name, want := range map[string]any{
		"default":                        session.ID("main.http.my=20app.default"),
		"a b":                            session.ID("main.http.my=20app.a=20b"),
		"main.http.my=20app.default":     session.ID("main.http.my=20app.default"),
		"main.http.other.default":        fault.Denied,
		"main.terminal.local.default":    fault.Denied,
		"main.http.my app.default":       fault.Invalid,
		"two.parts":                      fault.Invalid,
		"other.http.my=20app.default":    fault.Denied,
		"":                               fault.Invalid,
		strings.Repeat("x", 201):         fault.Invalid,
		"main.telegram.my=20app.default": fault.Denied,
	} {
		got, err := who.session(name)
		if k, bad := want.(fault.Kind); bad {
			if fault.KindOf(err) != k {
				t.Errorf("%q: %v, want %s", name, err, k)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: %s, %v", name, got, err)
		}
	}
}

func TestFind(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/messages":              "/v1/messages ",
		"/v1/messages/":             "none",
		"/v1/messages/a~b/reply":    "/v1/messages/ a~b",
		"/v1/messages//reply":       "none",
		"/v1/messages/reply":        "none",
		"/v1/messages/a/b/reply":    "none",
		"/v1/sessions/x/events":     "/v1/sessions/ x",
		"/v1/sessions/x/events/":    "none",
		"/v1/sessions/x/stop":       "/v1/sessions/ x",
		"/v1/approvals":             "/v1/approvals ",
		"/v1/approvals/":            "none",
		"/v1/approvals/a":           "/v1/approvals/ a",
		"/v1/approvals/a/b":         "none",
		"/v1/approvals/a/":          "none",
		"/healthz":                  "/healthz ",
		"/":                         "none",
		"":                          "none",
		"/v1/../v1/messages":        "none",
		"//v1/messages":             "none",
		"/v1/sessions/../x/../stop": "none",
	} {
		got := "none"
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if rt, arg, _ := find(method, path); rt != nil {
				got = rt.before + " " + arg
			}
		}
		if got != want {
			t.Errorf("%q: %s", path, got)
		}
	}
}

func TestFindByMethod(t *testing.T) {
	for _, tc := range []struct{ method, path, want string }{
		{http.MethodGet, "/v1/approvals/a", ""},
		{http.MethodHead, "/v1/approvals/a", ""},
		{http.MethodPost, "/v1/approvals/a", ""},
		{http.MethodDelete, "/v1/approvals/a", "GET POST"},
		{http.MethodPost, "/v1/approvals", "GET"},
		{http.MethodHead, "/v1/sessions/x/events", "GET"}, // it does not end
		{http.MethodGet, "/v1/messages", "POST"},
		{http.MethodGet, "/v1/nothing", ""},
	} {
		rt, _, allow := find(tc.method, tc.path)
		if got := strings.Join(allow, " "); got != tc.want || rt != nil && got != "" {
			t.Errorf("%s %s: %v, allowed are %q", tc.method, tc.path, rt, got)
		}
	}
}

func TestSplitMessageID(t *testing.T) {
	sid, id, err := splitMessageID(messageID("main.http.a.b", "m1"))
	if sid != "main.http.a.b" || id != "m1" || err != nil {
		t.Errorf("%s, %s, %v", sid, id, err)
	}
	for _, bad := range []string{"", "m1", "~m1", "main.http.a.b~", "name~m1"} {
		if _, _, err := splitMessageID(bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWaitOf(t *testing.T) {
	for q, want := range map[string]time.Duration{
		"": 0, "wait=": 0, "wait=30s": 30 * time.Second, "wait=250ms": 250 * time.Millisecond, "wait=1h": 2 * time.Minute,
		"wait=30": -1, "wait=-1s": -1, "wait=soon": -1,
	} {
		got, err := waitOf(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+q, nil))
		if want < 0 {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", q, err)
			}
			continue
		}
		if got != want || err != nil {
			t.Errorf("%q: %s, %v", q, got, err)
		}
	}
}

func TestStatusOfEachKind(t *testing.T) {
	seen := map[int]fault.Kind{}
	for _, k := range []fault.Kind{
		fault.Invalid, fault.TooLarge, fault.Denied, fault.NotFound, fault.Conflict, fault.Full, fault.Busy,
		fault.Unavailable, fault.Timeout, fault.Internal,
	} {
		status := statusOf(k)
		if other, ok := seen[status]; ok || status < 400 {
			t.Errorf("%s and %s are both %d", k, other, status)
		}
		seen[status] = k
	}
}

func TestConnections(t *testing.T) {
	one, two := net.Pipe()
	t.Cleanup(func() { _, _ = one.Close(), two.Close() })
	c := newConnections()
	c.changed(one, http.StateNew)
	c.changed(one, http.StateActive)
	c.changed(two, http.StateNew) // opened, never used
	quiet := c.stop()
	select {
	case <-quiet:
		t.Fatal("quiet while a request is at work")
	default:
	}
	c.changed(two, http.StateClosed)
	c.changed(one, http.StateIdle)
	<-quiet
	c.changed(one, http.StateActive) // a last one on a kept connection
	c.changed(one, http.StateClosed)
	<-c.stop()
}
