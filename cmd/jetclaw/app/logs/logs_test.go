package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"
)

const (
	canary  = `can"ary/with\odd <chars> & more`
	canary2 = "0123456789-second-canary"
	keyFile = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n"
)

type printsItself struct{ secret string }

func (p printsItself) String() string { return "printed " + p.secret }

type logsItself struct{ secret string }

func (l logsItself) LogValue() slog.Value {
	return slog.GroupValue(slog.String("inner", l.secret), slog.Any("deeper", printsItself(l)))
}

// TestCanaries sends a secret down every way into a line and looks for it in what comes out, in both formats.
func TestCanaries(t *testing.T) {
	ways := map[string]func(l *slog.Logger, s string){
		"message":       func(l *slog.Logger, s string) { l.Info("say " + s) },
		"attribute":     func(l *slog.Logger, s string) { l.Info("m", "k", s) },
		"key":           func(l *slog.Logger, s string) { l.Info("m", s, "v") },
		"error":         func(l *slog.Logger, s string) { l.Error("m", "error", fmt.Errorf("ask: %w", errors.New(s))) },
		"group":         func(l *slog.Logger, s string) { l.Info("m", slog.Group("g", slog.Group("h", "k", s))) },
		"with":          func(l *slog.Logger, s string) { l.With("k", s).WithGroup("g").Info("m", "x", 1) },
		"group name":    func(l *slog.Logger, s string) { l.WithGroup(s).Info("m", "x", 1) },
		"stringer":      func(l *slog.Logger, s string) { l.Info("m", "k", printsItself{s}) },
		"log valuer":    func(l *slog.Logger, s string) { l.Info("m", "k", logsItself{s}) },
		"struct":        func(l *slog.Logger, s string) { l.Info("m", "k", struct{ Token string }{s}) },
		"map":           func(l *slog.Logger, s string) { l.Info("m", "k", map[string]any{"a": []string{s}}) },
		"bytes":         func(l *slog.Logger, s string) { l.Info("m", "k", json.RawMessage(`{"a":`+quote(s)+`}`)) },
		"debug":         func(l *slog.Logger, s string) { l.Debug("m", "k", s) },
		"context":       func(l *slog.Logger, s string) { l.InfoContext(context.Background(), "m", "k", s) },
		"default":       func(_ *slog.Logger, s string) { slog.Warn("m", "k", s) },
		"standard log":  func(_ *slog.Logger, s string) { log.Printf("m %s", s) },
		"twice in line": func(l *slog.Logger, s string) { l.Info(s+s, "k", s) },
	}
	for _, f := range []Format{Text, JSON} {
		for name, way := range ways {
			t.Run(string(f)+" "+name, func(t *testing.T) {
				for _, secret := range []string{canary, canary2, keyFile} {
					var out bytes.Buffer
					r := &Redactor{}
					r.Add(secret)
					way(New(&out, r, Options{Level: slog.LevelDebug, Format: f, Colour: true}), secret)
					if out.Len() == 0 {
						t.Fatal("nothing was logged")
					}
					if leaks(out.String(), secret) {
						t.Errorf("leaked: %s", out.String())
					}
					if !strings.Contains(out.String(), Mask) && !strings.Contains(out.String(), `"k":{}`) {
						t.Errorf("no mask: %s", out.String())
					}
				}
			})
		}
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// leaks looks for parts of the secret that no escaping would change.
func leaks(out, secret string) bool {
	for _, part := range []string{"ary/with", "second-canary", "MC4CAQAwBQYDK2VwBCIEIJ"} {
		if strings.Contains(secret, part) && strings.Contains(out, part) {
			return true
		}
	}
	return false
}

func TestTokenForms(t *testing.T) {
	r := &Redactor{}
	for in, want := range map[string]string{
		"Authorization: Bearer abcdefghij.klm":                                           "Authorization: Bearer " + Mask,
		`{"authorization":"bearer abcdefghijklm"}`:                                       `{"authorization":"bearer ` + Mask + `"}`,
		"key sk-proj-abcdefghijklmnop is wrong":                                          "key " + Mask + " is wrong",
		"sk-ant-api03-abcdefghijklmnop":                                                  Mask,
		"https://api.telegram.org/bot12345678:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx/getMe": "https://api.telegram.org/bot" + Mask + "/getMe",
		"nats://user:pass@host:4222":                                                     "nats://" + Mask + "@host:4222",
		"GET /v1?api_key=abcdefgh&x=1":                                                   "GET /v1?api_key=" + Mask + "&x=1",
		`{"password":"hunter22","x":1}`:                                                  `{"password":"` + Mask + `","x":1}`,
		"c.yaml:1:2: models.p.api_key: env:NO_KEY: not set":                              "c.yaml:1:2: models.p.api_key: env:NO_KEY: not set",
		"seed SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY":                "seed " + Mask,
		"ghp_abcdefghijklmnopqrst":                                                       Mask,
		"eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM":                                           Mask,
		"nothing to hide: a task-list at http://127.0.0.1:8080":                          "nothing to hide: a task-list at http://127.0.0.1:8080",
		"mail a@b.example about main.telegram.mybot.12345":                               "mail a@b.example about main.telegram.mybot.12345",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%s\n\tgot  %s\n\twant %s", in, got, want)
		}
	}
}

func TestASecretWithinAnother(t *testing.T) {
	r := &Redactor{}
	r.Add("inner-secret")
	r.Add("outer-inner-secret-outer")
	if got := r.Text("x outer-inner-secret-outer y inner-secret z"); got != "x "+Mask+" y "+Mask+" z" {
		t.Error(got)
	}
}

func TestShortValuesAreLeftAlone(t *testing.T) {
	r := &Redactor{}
	r.Add("", "a", "abc")
	if got := r.Text("a cab, abc"); got != "a cab, abc" {
		t.Error(got)
	}
}

func TestParseLevel(t *testing.T) {
	if l, err := ParseLevel("DEBUG"); err != nil || l != slog.LevelDebug {
		t.Error(l, err)
	}
	if _, err := ParseLevel("info+2"); err == nil {
		t.Error("an odd level passes")
	}
}
