package httpguard_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

func TestHost(t *testing.T) {
	hosts := httpguard.NewHosts("127.0.0.2:7450", "Claw.Example", "", "[2001:DB8::1]")
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:7450": true, "127.0.0.1:1": true, "127.0.0.2": true, "[::1]:7450": true, "[::1]": true,
		"claw.example:443": true, "[2001:db8::1]:7450": true, "": false, ":7450": false, "evil.example": false,
		"localhost.evil.example:7450": false, "127.0.0.1.evil.example": false, "192.0.2.1": false, "localhost:7450:1": false,
	} {
		if got := hosts.Host(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
	for _, listen := range []string{":7450", "0.0.0.0:7450", "[::]:7450", "no port"} {
		for _, host := range []string{"", ":7450", "0.0.0.0:7450", "[::]:7450", "no port"} {
			if httpguard.NewHosts(listen).Host(host) {
				t.Errorf("listening on %q: %q is known", listen, host)
			}
		}
	}
	var none httpguard.Hosts
	if none.Host("localhost") {
		t.Error("the zero value knows localhost")
	}
}

func TestOrigin(t *testing.T) {
	hosts := httpguard.NewHosts("127.0.0.1:7450", "claw.example")
	for origin, want := range map[string]bool{
		"http://localhost": true, "http://localhost:7450": true, "http://localhost:6274": true, "https://claw.example": true,
		"http://127.0.0.1:7450": true, "http://[::1]:7450": true, "http://LOCALHOST:7450": true,
		"": false, "null": false, "localhost": false, "http://": false, "//localhost": false, "http:localhost": false,
		"http://evil.example": false, "https://localhost.evil.example": false, "https://evil.example:7450": false,
		"file://localhost": false, "chrome-extension://localhost": false, "ws://localhost": false,
		"http://localhost/": false, "http://localhost?": false, "http://localhost#": false, "http://localhost?x": false,
		"http://me@localhost": false, "http://localhost@evil.example": false, "http://localhost:x": false,
		"http://localhost, http://evil.example": false, " http://localhost": false, "http://localhost\x00": false,
	} {
		r := request(t, "")
		r.Header["Origin"] = []string{origin}
		if got := hosts.Origin(r); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
	r := request(t, "")
	if !hosts.Origin(r) {
		t.Error("a program, which sends no Origin, is refused")
	}
	r.Header["Origin"] = []string{"http://localhost", "http://localhost"}
	if hosts.Origin(r) {
		t.Error("two origins are taken")
	}
}
