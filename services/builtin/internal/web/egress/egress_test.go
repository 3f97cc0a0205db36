package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forbidden is one of each kind, and the first and last of the ranges that matter most.
var forbidden = strings.Fields(`
	0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.0 127.0.0.1 127.255.255.255
	168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.192 192.0.2.1
	192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1
	224.0.0.0 224.0.0.251 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255
	:: ::1 ::2 ::7f00:1 ::10.0.0.1 ::8.8.8.8 ::ffff:0.0.0.0 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:8.8.8.8
	64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::8.8.8.8 100::1 1fff:ffff::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
	2001:2::1 2001:10::1 2001:20::1 2001:1ff::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1
	2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:127.0.0.1
	fc00::1 fd00:ec2::254 fd12:3456:789a::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 feff::1 ff02::1 ff0e::1 2606:4700::1111%eth0`)

var public = strings.Fields(`1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0
	172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 93.184.216.34 ::ffff:8.8.8.8
	2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450::1 3ffe::1 64:ff9b::8.8.8.8 2606:4700::5efe:8.8.8.8`)

func TestCheck(t *testing.T) {
	for _, s := range forbidden {
		err := Policy{}.Check(netip.MustParseAddr(s))
		if f := new(Forbidden); !errors.As(err, &f) || f.Kind == "" {
			t.Errorf("%s may be dialled: %v", s, err)
		}
	}
	for _, s := range public {
		if err := (Policy{}).Check(netip.MustParseAddr(s)); err != nil {
			t.Errorf("%s may not be dialled: %v", s, err)
		}
	}
	if (Policy{}).Check(netip.Addr{}) == nil {
		t.Error("no address may be dialled")
	}
}

func TestAllow(t *testing.T) {
	for _, s := range []string{
		"0.0.0.0/0", "::/0", "10.0.0.0/7", "169.254.0.0/16", "169.254.169.254/32", "8.8.8.0/24", "224.0.0.0/8", "fe80::/10", "::/128", "0.0.0.0/32",
		"2000::/3", "::ffff:10.0.0.0/104", "64:ff9b::/96", "172.0.0.0/8",
	} {
		if _, err := NewPolicy([]netip.Prefix{netip.MustParsePrefix(s)}); err == nil {
			t.Errorf("%s can be allowed", s)
		}
	}
	if _, err := NewPolicy([]netip.Prefix{{}}); err == nil {
		t.Error("no range can be allowed")
	}
	p, err := NewPolicy([]netip.Prefix{netip.MustParsePrefix("10.1.2.3/16"), netip.MustParsePrefix("fd00:1::/32"), netip.MustParsePrefix("127.0.0.1/32")})
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{
		"10.1.255.255": true, "10.2.0.0": false, "::ffff:10.1.0.1": true, "fd00:1::5": true, "fd00:1::5%eth0": false, "fd00:2::5": false, "127.0.0.1": true,
		"127.0.0.2": false, "::1": false, "8.8.8.8": true, "169.254.169.254": false, "64:ff9b::10.1.0.1": false,
	} {
		if err := p.Check(netip.MustParseAddr(s)); (err == nil) != want {
			t.Errorf("%s: %v, want %v", s, err, want)
		}
	}
}

func TestControl(t *testing.T) {
	for _, c := range []struct {
		network, address string
		ok               bool
	}{
		{"tcp4", "8.8.8.8:80", true},
		{"tcp6", "[2606:4700::1]:443", true},
		{"tcp4", "127.0.0.1:80", false},
		{"tcp6", "[::ffff:10.0.0.1]:80", false},
		{"udp4", "8.8.8.8:53", false},
		{"unix", "/run/docker.sock", false},
		{"tcp4", "example.com:80", false},
		{"tcp6", "[fe80::1%eth0]:80", false},
		{"tcp", "", false},
	} {
		if err := (Policy{}).Control(c.network, c.address, nil); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.network, c.address, err)
		}
	}
}

func listen(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestRealDial uses neither hook: the system's resolver and real sockets.
func TestRealDial(t *testing.T) {
	port := listen(t)
	d := &Dialer{Budget: 3}
	for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1", "0.0.0.0", "::"} {
		c, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if f := new(Forbidden); !errors.As(err, &f) {
			t.Errorf("%s: connection %v, error %v", host, c, err)
		}
	}
	// The second check stands even where the first is left out.
	_, err := d.connect(t.Context(), netip.MustParseAddrPort("127.0.0.1:"+port))
	if f := new(Forbidden); !errors.As(err, &f) {
		t.Errorf("the socket connects: %v", err)
	}
	if _, err := d.DialContext(t.Context(), "udp", "8.8.8.8:53"); err == nil {
		t.Error("UDP is dialled")
	}
	p, err := NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err != nil {
		t.Fatal(err)
	}
	d.Policy = p
	c, err := d.DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); string(got) != "hel" || !errors.Is(err, ErrFlood) {
		t.Errorf("read %q, %v: the budget of 3 bytes is not kept", got, err)
	}
}

// TestOneForbiddenSpoilsAll: an answer that mixes public and private is not dialled at all.
func TestOneForbiddenSpoilsAll(t *testing.T) {
	for _, answer := range [][]string{{"8.8.8.8", "10.0.0.1"}, {"10.0.0.1", "8.8.8.8"}, {"8.8.8.8", "::1"}, {}} {
		d := &Dialer{Budget: 1, Lookup: func(context.Context, string) ([]netip.Addr, error) {
			var all []netip.Addr
			for _, a := range answer {
				all = append(all, netip.MustParseAddr(a))
			}
			return all, nil
		}, Connect: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			t.Errorf("%v: %v is dialled", answer, to)
			return nil, net.ErrClosed
		}}
		if _, err := d.DialContext(t.Context(), "tcp", "h:80"); err == nil {
			t.Errorf("%v connects", answer)
		}
	}
}

// TestNothingButPublicIsDialled draws answers of a resolver, half of them near the ranges that matter, and holds what is
// dialled against net/netip's own idea of public.
func TestNothingButPublicIsDialled(t *testing.T) {
	var near []netip.Prefix
	for _, s := range append(append([]string{}, forbidden...), public...) {
		a := netip.MustParseAddr(s).WithZone("")
		near = append(near, netip.PrefixFrom(a, a.BitLen()/2))
	}
	addr := rapid.Custom(func(t *rapid.T) netip.Addr {
		var a netip.Addr
		if rapid.Bool().Draw(t, "four") {
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
		} else {
			a = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")))
		}
		if rapid.Bool().Draw(t, "near") {
			p := rapid.SampledFrom(near).Draw(t, "prefix")
			b, r := p.Addr().AsSlice(), a.As16()
			copy(b[len(b)/2:], r[16-len(b)/2:])
			a, _ = netip.AddrFromSlice(b)
		}
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		answer := rapid.SliceOfN(addr, 1, 4).Draw(t, "answer")
		lookup := func(context.Context, string) ([]netip.Addr, error) { return answer, nil }
		connect := func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			a := to.Addr()
			if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.Is4In6() || a.Zone() != "" {
				t.Fatalf("%v is dialled", a)
			}
			return nil, net.ErrClosed
		}
		d := &Dialer{Budget: 1, Lookup: lookup, Connect: connect}
		_, _ = d.DialContext(context.Background(), "tcp", "h:80")
	})
}
