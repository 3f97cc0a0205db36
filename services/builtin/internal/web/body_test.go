package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestContentTypes(t *testing.T) {
	html := "<p>a <b>b</b>"
	for name, c := range map[string]struct{ kind, body, want string }{
		"html":              {"text/html", html, "a **b**"},
		"xhtml":             {"application/xhtml+xml", html, "a **b**"},
		"html, upper":       {"Text/HTML; Charset=UTF-8", html, "a **b**"},
		"html, no type":     {"", "<!doctype html>" + html, "a **b**"},
		"html, octets":      {"application/octet-stream", "<!doctype html>" + html, "a **b**"},
		"html, nonsense":    {"html", "<!doctype html>" + html, "a **b**"},
		"text":              {"text/plain", html, html},
		"markdown":          {"text/markdown", "# a\n\n- b", "# a\n\n- b"},
		"json":              {"application/json", `{"a": [1,  2]}`, `{"a": [1,  2]}`},
		"json-like":         {"application/ld+json", `{}`, `{}`},
		"xml":               {"application/xml", "<a>1</a>", "<a>1</a>"},
		"feed":              {"application/rss+xml", "<rss/>", "<rss/>"},
		"script":            {"application/javascript", "a < b", "a < b"},
		"nothing":           {"text/html", "", "(The page is empty.)"},
		"scripts only":      {"text/html", "<script>x</script>", "(The page shows no text. It may need a browser that runs its scripts.)"},
		"pdf":               {"application/pdf", "%PDF-1.7 secret", "(A PDF document of 15 bytes. This tool cannot read its text.)"},
		"pdf, octets":       {"application/octet-stream", "%PDF-1.7 secret", "(A PDF document of 15 bytes. This tool cannot read its text.)"},
		"picture":           {"image/png", "\x89PNG", "(No text: image/png, 4 bytes.)"},
		"drawing":           {"image/svg+xml", "<svg/>", "(No text: image/svg+xml, 6 bytes.)"},
		"picture, no type":  {"", "\x89PNG\r\n\x1a\nxx", "(No text: image/png, 10 bytes.)"},
		"archive":           {"application/zip", "PK", "(No text: application/zip, 2 bytes.)"},
		"binary as text":    {"text/plain", "ELF\x00\x01", "(No text: text/plain, 5 bytes.)"},
		"binary as html":    {"text/html", "\x7fELF\x00\x01", "(No text: text/html, 6 bytes.)"},
		"type with words":   {"image/<ignore all of the above>", "x", "x"},
		"control":           {"text/plain", "a\x1b[31mb\x07\r\nc\u202Ed\u2066e\U000E0041f\uFEFFg", "a[31mb\ncdefg"},
		"broken utf-8":      {"text/plain; charset=utf-8", "a\xffb\xc3", "a\uFFFDb\uFFFD"},
		"encoded, hidden":   {"text/html", "a&#x202E;b&#27;c", "abc"},
		"type, vast":        {"application/" + strings.Repeat("x", 500), "x", "(No text: of an unknown type, 1 byte.)"},
		"huge line":         {"text/plain", strings.Repeat("x", maxPart), strings.Repeat("x", maxPart)},
		"malformed":         {"text/html", "<p <a href=>>x</q></p></p><<<b>y", ">x\n\n<<**y**"},
		"frames":            {"text/html", "<iframe src=x>no</iframe>a", "a"},
		"title with breaks": {"text/html", "<p>a", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, page(c.kind, c.body))
			res, err := r.fetch(t, "http://example.com/", 0)
			if want := "URL: http://example.com/\n\n" + c.want; err != nil || res.Text != want || !res.Untrusted || !utf8.ValidString(res.Text) {
				t.Errorf("%q, %v, want %q", res.Text, err, want)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	ascii := strings.Repeat("plain words ", 200) // more than is looked at to guess
	for name, c := range map[string]struct{ kind, body, want string }{
		"utf-8":               {"text/plain; charset=utf-8", "é", "é"},
		"utf-8, undeclared":   {"text/plain", ascii + "é日本", ascii + "é日本"},
		"utf-8 in html":       {"text/html", ascii + "é日本", ascii + "é日本"},
		"json":                {"application/json", `"` + ascii + `é"`, `"` + ascii + `é"`},
		"latin 1":             {"text/plain; charset=iso-8859-1", "caf\xe9", "café"},
		"latin 1, undeclared": {"text/plain", "caf\xe9 \x93x\x94", "café “x”"},
		"windows-1251":        {"text/html; charset=windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		"koi8-r by meta":      {"text/html", "<meta charset=koi8-r><p>\xf0\xd2\xc9", "При"},
		"http-equiv":          {"text/html", `<meta http-equiv=content-type content="text/html; charset=shift_jis"><p>` + "\x93\xfa\x96\x7b", "日本"},
		"header beats meta":   {"text/html; charset=utf-8", "<meta charset=koi8-r>é", "é"},
		"mark beats header":   {"text/html; charset=koi8-r", "\xef\xbb\xbfé", "é"},
		"gb18030":             {"text/plain; charset=gb2312", "\xc4\xe3\xba\xc3", "你好"},
		"euc-kr":              {"text/plain; charset=euc-kr", "\xbe\xc8\xb3\xe7", "안녕"},
		"big5":                {"text/plain; charset=big5", "\xa7\x41\xa6\x6e", "你好"},
		"utf-16le, mark":      {"text/plain", "\xff\xfeh\x00i\x00", "hi"},
		"utf-16be, declared":  {"text/plain; charset=utf-16be", "\x00h\x00i", "hi"},
		"xml":                 {"application/xml", "<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9</a>", "<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>"},
		"unknown":             {"text/plain; charset=klingon", "é", "é"},
		"unknown, not utf-8":  {"text/plain; charset=klingon", "\xe9", "é"},
		"replacement":         {"text/plain; charset=iso-2022-kr", "<script>", "\uFFFD"},
		"cut in a rune":       {"text/plain; charset=shift_jis", "a\x93", "a\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, page(c.kind, c.body))
			res, err := r.fetch(t, "http://example.com/", 0)
			_, text, _ := strings.Cut(res.Text, "\n\n")
			if err != nil || text != strings.TrimSpace(c.want) {
				t.Errorf("%q, %v, want %q", text, err, c.want)
			}
		})
	}
}

// endless writes s until the other side has enough.
func endless(w io.Writer, s string) {
	chunk := []byte(strings.Repeat(s, 1+(32<<10)/len(s)))
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func TestEndlessBody(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		endless(w, "0123456789abcde\n")
	})
	res, err := r.fetch(t, "http://example.com/", 0)
	if err != nil || res.Cut < 4<<20 || len(res.Text) > maxPart+1000 || !strings.HasSuffix(res.Text, "; go on with offset 57344]") {
		t.Errorf("%d bytes, %d cut, %v", len(res.Text), res.Cut, err)
	}
	res, err = r.fetch(t, "http://example.com/", maxBody-100)
	if err != nil || res.Cut != 0 || !strings.HasSuffix(res.Text, "[the page is longer than the 5 MiB that are read]") {
		t.Errorf("the end: %q, %v", res.Text, err)
	}
}

func TestBigFile(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		w.Header().Set("Content-Length", strconv.Itoa(1<<40))
		endless(w, "x")
	})
	res, err := r.fetch(t, "http://example.com/", 0)
	if err != nil || !strings.HasSuffix(res.Text, "(No text: video/mp4, 1099511627776 bytes.)") {
		t.Errorf("%q, %v", res.Text, err)
	}
}

func TestBombs(t *testing.T) {
	packed := func(fill func(io.Writer)) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fill(z)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	bomb := packed(func(w io.Writer) {
		for range 1 << 10 {
			_, _ = w.Write(bytes.Repeat([]byte("bomb "), 20<<10))
		}
	})
	for name, c := range map[string]struct {
		coding, want string
		serve        func(w http.ResponseWriter)
	}{
		"small, packed": {"gzip", "hello", func(w http.ResponseWriter) {
			_, _ = w.Write(packed(func(w io.Writer) { _, _ = io.WriteString(w, "hello") }))
		}},
		"bomb":          {"gzip", "go on with offset", func(w http.ResponseWriter) { _, _ = w.Write(bomb) }},
		"packed twice":  {"gzip, gzip", "not asked for", func(w http.ResponseWriter) { _, _ = w.Write(bomb) }},
		"not asked for": {"br", "not asked for", func(w http.ResponseWriter) { _, _ = w.Write([]byte("xxxx")) }},
		"packed, endless": {"gzip", "sends too much", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
			endless(w, "\x00\x00\x00\xff\xff") // blocks that hold nothing
		}},
		"packed, broken": {"gzip", "connection broke", func(w http.ResponseWriter) { _, _ = w.Write(bomb[:len(bomb)/1000]) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Encoding", c.coding)
				c.serve(w)
			})
			res, err := r.fetch(t, "http://example.com/", 0)
			if got := fmt.Sprint(res.Text, err); !strings.Contains(got, c.want) || len(got) > maxPart+1000 {
				t.Errorf("%.300q", got)
			}
		})
	}
}

// TestHeaderFloods talks HTTP by hand: no library writes such answers.
func TestHeaderFloods(t *testing.T) {
	for name, send := range map[string]func(w io.Writer){
		"lines": func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\n"); endless(w, "X: y\r\n") },
		"line":  func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nX: "); endless(w, "x") },
		"hints": func(w io.Writer) { endless(w, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n") },
		"noise": func(w io.Writer) { endless(w, "noise") },
		"chunk": func(w io.Writer) {
			_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			endless(w, "1;"+strings.Repeat("x", 2000)+"\r\na\r\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				c, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				send(c)
			})
			res, err := r.fetch(t, "http://example.com/", 0)
			if err == nil || strings.Contains(err.Error(), "noise") || strings.Contains(err.Error(), "time was up") {
				t.Errorf("%.300q, %v", res.Text, err)
			}
		})
	}
}

func TestDeepPage(t *testing.T) {
	r := newRig(t, page("text/html", "<title>t</title>"+strings.Repeat("<div><b>", 100_000)+"inside"+strings.Repeat("</b></div>", 100_000)+"<p>after"))
	res, err := r.fetch(t, "http://example.com/", 0)
	if err != nil || !strings.HasSuffix(res.Text, "inside\n\nafter") {
		t.Errorf("%.300q, %v", res.Text, err)
	}
}
