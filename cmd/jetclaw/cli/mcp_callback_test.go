package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// browse asks the listener for a page, as a browser does, and returns the status.
func browse(t *testing.T, method, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestCallback(t *testing.T) {
	t.Parallel()
	b, err := listenForCode(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if u, err := url.Parse(b.url); err != nil || !onThisMachine(u) || u.Path != callbackPath {
		t.Fatalf("%s: %v", b.url, err)
	}
	answer := func(query string) string { return b.url + "?" + query }
	for _, c := range []struct {
		method, at string
		status     int
	}{
		{"GET", answer("code=early&state="), http.StatusBadRequest}, // no login has begun
		{"GET", strings.Replace(b.url, callbackPath, "/other", 1) + "?code=a&state=s1", http.StatusNotFound},
	} {
		if status, _ := browse(t, c.method, c.at); status != c.status {
			t.Errorf("%s %s: HTTP %d", c.method, c.at, status)
		}
	}
	b.expect("s1")
	for _, c := range []struct {
		method, at string
		status     int
	}{
		{"GET", answer("code=a&state=s2"), http.StatusBadRequest},
		{"GET", answer("code=a"), http.StatusBadRequest},
		{"GET", answer("state=s1"), http.StatusBadRequest},
		{"GET", answer("state=s1&code=" + strings.Repeat("x", longestCode+1)), http.StatusBadRequest},
		{"POST", answer("code=a&state=s1"), http.StatusMethodNotAllowed},
	} {
		if status, _ := browse(t, c.method, c.at); status != c.status {
			t.Errorf("%s %.80s: HTTP %d", c.method, c.at, status)
		}
	}
	status, page := browse(t, "GET", answer("code=<b>good</b>&state=s1&iss=https://as.example.com"))
	if status != http.StatusOK || !strings.Contains(page, "close this window") || strings.Contains(page, "good") {
		t.Errorf("HTTP %d %s", status, page)
	}
	browse(t, "GET", answer("code=second&state=s1"))
	got, err := b.wait(t.Context(), nil)
	if err != nil || got != (oauthAnswer{"<b>good</b>", "s1", "https://as.example.com"}) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestCallbackRefused(t *testing.T) {
	t.Parallel()
	b, err := listenForCode(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.expect("s")
	browse(t, "GET", b.url+"?state=s&error=access_denied&error_description=no%1b%5b2J")
	if _, err := b.wait(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "access_denied no[2J") {
		t.Error(err)
	}
	typed := make(chan string, 2)
	typed <- "http://127.0.0.1:1/callback?code=typed&state=s"
	if got, err := b.wait(t.Context(), typed); err != nil || got.code != "typed" || got.state != "s" {
		t.Error(got, err)
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if _, err := b.wait(ctx, nil); !errors.Is(err, over) {
		t.Error(err)
	}
}

// TestConfiguredCallback listens where the configuration says, or says why it does not.
func TestConfiguredCallback(t *testing.T) {
	t.Parallel()
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		configured string
		waits      bool
	}{
		{"http://localhost:" + port(t, freeAddress(t)) + "/back", true},
		{"http://" + busy.Addr().String() + "/back", false},
		{"https://jetclaw.example.com/back", false},
	} {
		b, err := listenForCode(t.Context(), c.configured)
		if err != nil {
			t.Fatal(err)
		}
		if b.waits() != c.waits || b.url != c.configured || (b.trouble == "") != c.waits {
			t.Errorf("%s: %+v", c.configured, b)
		}
		b.close()
	}
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTypedCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" abc123 ": "abc123", "http://127.0.0.1:7/callback?code=x%2Fy&state=s": "x/y",
		"": "", "two words": "", "http://127.0.0.1:7/callback?error=denied": "", strings.Repeat("x", longestCode+1): "", "a\x1b[2J": "",
	} {
		got, err := typedCode(text)
		if (err == nil) != (want != "") || err == nil && got.code != want {
			t.Errorf("%.40q: %+v %v", text, got, err)
		}
	}
}

func TestBrowsable(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://as.example.com/authorize?x=1": true, "http://127.0.0.1:8080/a": true, "http://[::1]:8080/a": true, "http://localhost/a": true,
		"http://as.example.com/a": false, "file:///etc/passwd": false, "javascript:alert(1)": false, "--version": false, "": false,
		"https://user:pw@as.example.com/": false, "vscode://x/y": false, "https:///x": false,
	} {
		if browsable(address) != want {
			t.Errorf("%q", address)
		}
	}
}
