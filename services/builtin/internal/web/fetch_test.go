package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

func TestFetch(t *testing.T) {
	r := newRig(t, page("text/html; charset=utf-8", "<title>A page</title><h1>Hello</h1><p>See <a href=more>more</a>."))
	for _, u := range []string{"http://example.com/a/b?c=d#e", "https://example.com/a/b", "http://8.8.8.8/a/", "http://[2606:4700:4700::1111]/a/"} {
		res, err := r.fetch(t, u, 0)
		if err != nil {
			t.Fatal(u, err)
		}
		u, _, _ = strings.Cut(u, "#")
		want := "URL: " + u + "\nTitle: A page\n\n# Hello\n\nSee [more](" + u[:strings.LastIndex(u, "/")] + "/more)."
		if res.Text != want || !res.Untrusted || res.Failed || res.Private || res.Cut != 0 {
			t.Errorf("%+v, want text %q", res, want)
		}
	}
	r.dials(t)
}

// TestNothingIsCarriedAlong: what a server hands out does not come back to it, and nobody learns where the reader came from.
func TestNothingIsCarriedAlong(t *testing.T) {
	proxied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy of the environment is used") }))
	defer proxied.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxied.URL)
	}
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		if req.URL.Path != "/end" {
			http.Redirect(w, req, "/end", http.StatusFound)
		}
	})
	for range 2 {
		if _, err := r.fetch(t, "http://example.com/start?private=1", 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.seen) != 4 {
		t.Fatalf("%d requests", len(r.seen))
	}
	for _, req := range r.seen {
		for name := range req.Header {
			switch name {
			case "User-Agent", "Accept", "Accept-Encoding", "Connection":
			default:
				t.Errorf("%s: header %s: %q", req.URL, name, req.Header[name])
			}
		}
		if req.Method != http.MethodGet || req.ContentLength != 0 || req.UserAgent() != "test" {
			t.Errorf("%s by %q with %d bytes", req.Method, req.UserAgent(), req.ContentLength)
		}
	}
}

func TestRedirects(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, want string // want: of the first line, or of the error
		fails          bool
	}{
		"same host":       {"http://example.com/", "/end", "URL: http://example.com/end\n", false},
		"other host":      {"http://example.com/", "//other.test/end", "URL: http://other.test/end\n", false},
		"to https":        {"http://example.com/", "https://example.com/end", "URL: https://example.com/end\n", false},
		"to http":         {"https://example.com/", "http://example.com/end", "from https to http", true},
		"idna":            {"http://example.com/", "http://bücher.test/end", "URL: http://xn--bcher-kva.test/end\n", false},
		"loopback":        {"http://example.com/", "http://127.0.0.1/end", "a loopback address", true},
		"number":          {"http://example.com/", "http://2130706433/end", "a loopback address", true},
		"metadata":        {"http://example.com/", "http://169.254.169.254/latest", "a link-local address", true},
		"name of private": {"http://example.com/", "http://private.test/end", "a private address", true},
		"six":             {"http://example.com/", "http://[::ffff:10.0.0.1]/", "a private address", true},
		"unknown name":    {"http://example.com/", "http://nowhere.test/end", "was not found", true},
		"port":            {"http://example.com/", "http://example.com:8080/end", "ports 80 and 443", true},
		"user":            {"http://example.com/", "http://u:p@example.com/end", "user or password", true},
		"scheme":          {"http://example.com/", "file:///etc/passwd", "http:// or https://", true},
		"script":          {"http://example.com/", "javascript:alert(1)", "http:// or https://", true},
		"broken":          {"http://example.com/", "http://[::1", "cannot be read", true},
		"loop":            {"http://example.com/", "/", "more than 5 times", true},
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprint(name, " ", code), func(t *testing.T) {
				r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
					if req.URL.Path == "/end" {
						return
					}
					w.Header().Set("Location", c.to)
					w.WriteHeader(code)
				})
				r.names["private.test"] = [][]string{{"10.0.0.1"}}
				r.names["nowhere.test"] = [][]string{{}}
				res, err := r.fetch(t, c.from, 0)
				switch {
				case c.fails && (err == nil || !strings.Contains(err.Error(), c.want) || tool.IsRefusal(err)):
					t.Errorf("%v, %v, want an error with %q", res, err, c.want)
				case !c.fails && (err != nil || !strings.HasPrefix(res.Text, c.want)):
					t.Errorf("%v, %v, want %q", res, err, c.want)
				}
				if n := r.dials(t); n > maxRedirects+1 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
}

func TestFiveRedirectsAreFollowed(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		if n := len(req.URL.Path); n <= maxRedirects {
			http.Redirect(w, req, req.URL.Path+"x", http.StatusFound)
		}
	})
	if res, err := r.fetch(t, "http://example.com/", 0); err != nil || !strings.HasPrefix(res.Text, "URL: http://example.com/xxxxx\n") {
		t.Errorf("%v, %v", res, err)
	}
	r = newRig(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	if res, err := r.fetch(t, "http://example.com/", 0); err != nil || !res.Failed || !strings.Contains(res.Text, "HTTP 302") {
		t.Errorf("a redirect to nowhere: %v, %v", res, err)
	}
}

// TestRebinding: a name whose second answer is private is dialled by its first, and refused when it is asked for again.
func TestRebinding(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/again" {
			http.Redirect(w, req, "/end", http.StatusFound)
		}
	})
	r.names["rebind.test"] = [][]string{{publicIP}, {"127.0.0.1"}}
	if _, err := r.fetch(t, "http://rebind.test/", 0); err != nil || r.dials(t) != 1 {
		t.Errorf("%v after %d connections", err, r.dials(t))
	}
	if _, err := r.fetch(t, "http://rebind.test/", 0); !tool.IsRefusal(err) {
		t.Errorf("the second answer: %v", err)
	}
	r.names["again.test"] = [][]string{{publicIP}, {"169.254.169.254"}}
	if _, err := r.fetch(t, "http://again.test/again", 0); err == nil || !strings.Contains(err.Error(), "link-local") {
		t.Errorf("a redirect to the same name: %v", err)
	}
	if n := r.dials(t); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestStatus(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch req.URL.Path {
		case "/429":
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/long":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, strings.Repeat("word ", 10_000))
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<title>Gone</title><p>No such page")
		}
	})
	for path, want := range map[string]string{
		"/404":  "URL: http://example.com/404\nTitle: Gone\nHTTP 404 Not Found\n\nNo such page",
		"/429":  "URL: http://example.com/429\nHTTP 429 Too Many Requests (try again in 1m30s)\n\n(The page is empty.)",
		"/long": "URL: http://example.com/long\nHTTP 500 Internal Server Error\n\nword word",
	} {
		res, err := r.fetch(t, "http://example.com"+path, 0)
		if err != nil || !res.Failed || !res.Untrusted || !strings.HasPrefix(res.Text, want) || len(res.Text) > 1200 {
			t.Errorf("%s: %+v, %v", path, res, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	r.names["nowhere.test"] = [][]string{{}}
	for u, want := range map[string]string{
		"http://nowhere.test/":      "not found",
		"https://not-the-one.test/": "not trusted",
		"http://example.com/":       "connection broke",
	} {
		if res, err := r.fetch(t, u, 0); err == nil || !strings.Contains(err.Error(), want) || tool.IsRefusal(err) {
			t.Errorf("%s: %v, %v", u, res, err)
		}
	}
	r.http.Close()
	if _, err := r.fetch(t, "http://example.com/", 0); err == nil || !strings.Contains(err.Error(), "does not take connections") {
		t.Errorf("closed: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, func(_ http.ResponseWriter, req *http.Request) { cancel(); <-req.Context().Done() })
	_, err := r.f.run(ctx, tool.Call{Arguments: json.RawMessage(`{"url":"http://example.com/"}`)})
	if err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("%v", err)
	}
}

func TestSlow(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"header": func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"body": func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(w, "the beginning")
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, h)
			r.f.timeout = 200 * time.Millisecond
			if res, err := r.fetch(t, "http://example.com/", 0); err == nil || !strings.Contains(err.Error(), "time was up") {
				t.Errorf("%v, %v", res, err)
			}
		})
	}
}

// TestParts: the parts of a text, put together, are the text.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"x", "é", "word ", "line\n", "日本語", "🦊"}).Draw(t, "unit") + rapid.StringMatching(`[a-zé]{0,9}\n?`).Draw(t, "tail")
		text := clean(strings.Repeat(unit, rapid.IntRange(1, 4*maxPart/len(unit)).Draw(t, "times")))
		var all strings.Builder
		for rounds := 0; ; rounds++ {
			a := &answer{url: must(target("http://h/")), status: 200, header: http.Header{"Content-Type": {"text/plain"}}, body: []byte(text)}
			res, err := a.show(all.Len())
			if err != nil {
				if text == "" {
					return
				}
				t.Fatal(err)
			}
			_, part, _ := strings.Cut(res.Text, "\n\n")
			if res.Cut > 0 {
				part = part[:strings.LastIndex(part, "\n\n[bytes ")]
			}
			if len(part) > maxPart || len(part) == 0 && text != "" || rounds > 10 {
				t.Fatalf("a part of %d bytes", len(part))
			}
			all.WriteString(part)
			if res.Cut == 0 {
				break
			}
			if int(res.Cut) != len(text)-all.Len() {
				t.Fatalf("cut %d of %d at %d", res.Cut, len(text), all.Len())
			}
		}
		if got := all.String(); got != text && text != "" {
			t.Fatalf("%d bytes put together, want %d", len(got), len(text))
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOffset(t *testing.T) {
	r := newRig(t, page("text/plain", "héllo"))
	for offset, want := range map[int]string{0: "héllo", 1: "éllo", 2: "éllo", 3: "llo"} {
		if res, err := r.fetch(t, "http://example.com/", offset); err != nil || res.Text != "URL: http://example.com/\n\n"+want {
			t.Errorf("%d: %q, %v", offset, res.Text, err)
		}
	}
	for _, offset := range []int{-1, 6, 1 << 40} {
		if _, err := r.fetch(t, "http://example.com/", offset); err == nil || tool.IsRefusal(err) != (offset < 0) {
			t.Errorf("%d: %v", offset, err)
		}
	}
	if _, err := r.f.run(t.Context(), tool.Call{Arguments: json.RawMessage(`{"url":5}`)}); !tool.IsRefusal(err) {
		t.Errorf("%v", err)
	}
}

func TestTools(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string // names, or "" for an error
	}{
		"none":         {Options{}, "web_fetch"},
		"brave":        {Options{Search: Search{Provider: "brave", Key: "k"}}, "web_fetch web_search"},
		"exa":          {Options{Search: Search{Provider: "exa", Key: "k"}}, "web_fetch web_search"},
		"searxng":      {Options{Search: Search{Provider: "searxng", URL: "http://127.0.0.1:8888/searx/"}}, "web_fetch web_search"},
		"allowed":      {Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, "web_fetch"},
		"allowed wide": {Options{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}, ""},
		"agent":        {Options{UserAgent: "a\r\nX: y"}, ""},
		"no key":       {Options{Search: Search{Provider: "brave"}}, ""},
		"bad key":      {Options{Search: Search{Provider: "exa", Key: "k\n"}}, ""},
		"no provider":  {Options{Search: Search{Key: "k"}}, ""},
		"unknown":      {Options{Search: Search{Provider: "bing", Key: "k"}}, ""},
		"no url":       {Options{Search: Search{Provider: "searxng"}}, ""},
		"searxng key":  {Options{Search: Search{Provider: "searxng", URL: "http://h", Key: "k"}}, ""},
		"clear key":    {Options{Search: Search{Provider: "brave", Key: "k", URL: "http://10.0.0.1"}}, ""},
		"url user":     {Options{Search: Search{Provider: "searxng", URL: "http://u:p@h"}}, ""},
		"url scheme":   {Options{Search: Search{Provider: "searxng", URL: "ftp://h"}}, ""},
		"url query":    {Options{Search: Search{Provider: "searxng", URL: "http://h/?q=x"}}, ""},
	} {
		tools, err := Tools(c.o)
		var names []string
		for _, tl := range tools {
			names = append(names, tl.Name)
			if tl.Level != toolv1.L0 || !tl.Again || !tl.Untrusted || tl.Timeout < fetchTimeout && tl.Name == "web_fetch" || !json.Valid(tl.Schema) || tl.Run == nil {
				t.Errorf("%s: %+v", name, tl.Tool)
			}
			if want := map[string]toolv1.Egress{"web_fetch": toolv1.Chosen, "web_search": toolv1.Fixed}[tl.Name]; tl.Egress != want {
				t.Errorf("%s: egress %q", tl.Name, tl.Egress)
			}
		}
		if got := strings.Join(names, " "); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestAllowed: a range that the operator allows is fetched from, on the same terms otherwise.
func TestAllowed(t *testing.T) {
	tools, err := Tools(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(page("text/plain", "x"))
	defer srv.Close()
	_, err = tools[0].Run(t.Context(), tool.Call{Arguments: json.RawMessage(`{"url":"` + srv.URL + `"}`)})
	if !tool.IsRefusal(err) || !strings.Contains(err.Error(), "ports") {
		t.Errorf("%v", err)
	}
	_, err = tools[0].Run(t.Context(), tool.Call{Arguments: json.RawMessage(`{"url":"http://10.0.0.1/"}`)})
	if !tool.IsRefusal(err) {
		t.Errorf("%v", err)
	}
}
