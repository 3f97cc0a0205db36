package botapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

func TestDownload(t *testing.T) {
	content := bytes.Repeat([]byte("<html>\x00\xff"), 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/x/file/bot"+token+"/documents/file 1 é.html" || r.URL.RawQuery != "" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		_, _ = w.Write(content) // the client may stop reading
	}))
	defer srv.Close()
	c := client(t, srv.URL+"/x")
	const path = "documents/file 1 é.html"
	got, err := c.Download(t.Context(), path, int64(len(content)))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, most := range []int64{int64(len(content)) - 1, 1, 0, -1} {
		_, err := c.Download(t.Context(), path, most)
		if e := failure(t, err); !errors.Is(err, botapi.ErrTooBig) || e.Class != botapi.Refused {
			t.Errorf("at most %d: %v", most, err)
		}
	}
}

// TestDownloadPath: the path comes from outside, and goes behind the token.
func TestDownloadPath(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL.Path) }))
	defer srv.Close()
	c := client(t, srv.URL)
	for _, path := range []string{
		"", "/", "/etc/passwd", "/var/lib/telegram-bot-api/" + token + "/photos/1.jpg", "..", "../x", "a/../../x", "a/..", "./a", "a/./b", "a//b", "a/",
		"http://example.com/x", "//example.com/x", "a?b", "a#b", "a%2e%2e/b", "%2e%2e/x", `a\b`, `..\x`, "a\nb", "a\x00b", "a\u202eb", "\xff",
		strings.Repeat("x", 2000),
	} {
		got, err := c.Download(t.Context(), path, 100)
		if e := failure(t, err); e.Class != botapi.Refused || e.Code != 0 || got != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestDownloadFails(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		class  botapi.Class
	}{
		"gone":         {404, no(404, "Not Found"), botapi.Refused},
		"unauthorized": {401, no(401, "Unauthorized"), botapi.Unauthorized},
		"slower":       {429, no(429, "Too Many Requests"), botapi.Limited},
		"a proxy":      {502, page, botapi.Unknown},
		"a redirect":   {302, "", botapi.Refused},
		"a part":       {206, "x", botapi.Unknown},
		"no file":      {201, `{"ok":true,"result":true}`, botapi.Unknown},
	} {
		_, err := serve(t, c.status, c.body, "Location: https://example.com/").Download(t.Context(), "a/b", 1000)
		if e := failure(t, err); e.Class != c.class {
			t.Errorf("%s: %s", name, e.Class)
		}
	}
	addr := wire(t, func(conn net.Conn, in *bufio.Reader) {
		take(in)
		say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf")
	})
	got, err := client(t, "http://"+addr).Download(t.Context(), "a/b", 1000)
	if e := failure(t, err); e.Class != botapi.Unknown || got != nil {
		t.Errorf("half a file: %s, %q", e.Class, got)
	}
}
