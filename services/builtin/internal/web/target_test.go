package web

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

func TestTarget(t *testing.T) {
	for in, want := range map[string]string{
		"http://example.com":                  "http://example.com",
		" https://Example.COM:443/a?b=c#d ":   "https://example.com:443/a?b=c",
		"http://example.com:80/":              "http://example.com:80/",
		"http://example.com:443/":             "http://example.com:443/",
		"http://example.com./":                "http://example.com./",
		"http://a_b.example.com/":             "http://a_b.example.com/",
		"http://bücher.example/ü?ü":           "http://xn--bcher-kva.example/%C3%BC?ü",
		"http://ｅｘａｍｐｌｅ.com/":                 "http://example.com/",
		"http://例え。テスト/":                      "http://xn--r8jz45g.xn--zckzah/",
		"http://134744072/":                   "http://8.8.8.8/",
		"http://0x8.8.010.8/":                 "http://8.8.8.8/",
		"http://[2606:4700:4700:0::1111]:80/": "http://[2606:4700:4700::1111]:80/",
	} {
		u, err := target(in)
		if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v, want %q", in, u, err, want)
		}
	}
}

func TestRefusedTargets(t *testing.T) {
	r := newRig(t, page("text/plain", "x"))
	for _, u := range []string{
		"", "example.com", "//example.com/", "/etc/passwd", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "data:text/html,x",
		"javascript:alert(1)", "unix:///run/docker.sock", "http:example.com", "http://", "https:///x", "http://:80/",
		"http://user@example.com/", "http://user:secret@example.com/", "http://@example.com/", "http://example.com@10.0.0.1/",
		"http://example.com:8080/", "http://example.com:22/", "http://example.com:0/", "http://example.com:65616/", "http://example.com:080/",
		"https://example.com:8443/", "http://example.com:port/", "http://exa mple.com/", "http://example.com\\@10.0.0.1/", "http://exam%70le.com/",
		"http://example.com\r\nX: y/", "http://a..b/", "http://-\u0000/", "http://" + strings.Repeat("a", 64) + ".com/",
		"http://" + strings.Repeat("a.", 130) + "com/", "http://example.com/" + strings.Repeat("x", maxURL), "http://1.2.3.4.5/", "http://256.1.1.1/",
		"http://1.2.3.999/", "http://4294967296/", "http://0x1ffffffff/", "http://08.8.8.8/", "http://example.1/", "http://[::1", "http://[fe80::1%25eth0]/",
		"http://[::ffff:999.1.1.1]/", "http://[1.2.3.4]/", "http://ex*mple.com/", "http://a\u202Eb.com/",
	} {
		if res, err := r.fetch(t, u, 0); !tool.IsRefusal(err) {
			t.Errorf("%q is fetched: %v, %v", u, res, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error repeats it: %v", u, err)
		}
	}
	if n := r.dials(t); n > 0 || len(r.asked) > 0 {
		t.Errorf("%d connections, names asked for: %q", n, r.asked)
	}
}

// TestForbiddenSpellings: an address that is not public is none in any spelling.
func TestForbiddenSpellings(t *testing.T) {
	r := newRig(t, page("text/plain", "x"))
	hosts := strings.Fields(`
		127.0.0.1 127.1 127.0.1 127.0.0.1. 127.255.255.254 2130706433 0x7f000001 0x7F.1 0x7f.0.0.1 0177.0.0.1 0177.1 017700000001 00000177.0.0.1
		0x7f.0x0.0x0.0x1 127.0x0.00.1 0 0.0.0.0 0x0 00 0.1 0x 1 ０ １２７.０.０.１ 127。0。0。1 127．0．0．1 ①②⑦.⓪.⓪.①
		10.0.0.1 10.1 167772161 0xa000001 012.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 192.168.257 0xC0A80101 3232235777
		169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 0xA9.0xFE.0xA9.0xFE 169.16689662
		100.64.0.1 100.100.100.200 198.18.0.1 192.0.2.1 203.0.113.7 198.51.100.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 4294967295
		192.0.0.192 192.88.99.1 168.63.129.16
		[::] [::1] [0:0:0:0:0:0:0:1] [::0001] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:10.0.0.1] [::FFFF:169.254.169.254]
		[64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::a00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001:0:7f00:1::] [2001:db8::1] [3fff::1]
		[fc00::1] [fd00:ec2::254] [fe80::1] [fec0::1] [ff02::1] [100::1] [4000::1] [5f00::1] [2606:4700::5efe:10.0.0.1]
		localhost.test metadata.test six.test mapped.test mixed.test`)
	r.names["localhost.test"] = [][]string{{"127.0.0.1"}}
	r.names["metadata.test"] = [][]string{{"169.254.169.254"}}
	r.names["six.test"] = [][]string{{"fd00:ec2::254"}}
	r.names["mapped.test"] = [][]string{{"::ffff:10.0.0.1"}}
	r.names["mixed.test"] = [][]string{{publicIP, "10.0.0.1"}}
	if len(hosts) < 60 {
		t.Fatalf("only %d spellings", len(hosts))
	}
	for _, h := range hosts {
		for _, u := range []string{"http://" + h + "/", "https://" + h + ":443/x"} {
			if res, err := r.fetch(t, u, 0); !tool.IsRefusal(err) {
				t.Errorf("%s is fetched: %v, %v", u, res, err)
			}
		}
	}
	if n := r.dials(t); n > 0 {
		t.Errorf("%d connections", n)
	}
}
