package egress

import "net/netip"

// block is a range that is not the public internet.
type block struct {
	prefix netip.Prefix
	kind   string
}

func blocks(kind string, prefixes ...string) []block {
	var all []block
	for _, p := range prefixes {
		all = append(all, block{netip.MustParsePrefix(p), kind})
	}
	return all
}

func join(lists ...[]block) []block {
	var all []block
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// private are the ranges that an operator may allow: networks of one's own. 198.18.0.0/15 is among them because some
// proxies answer every name out of it.
var private = join(
	blocks("a loopback address", "127.0.0.0/8", "::1/128"),
	blocks("a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
	blocks("a shared address of a provider", "100.64.0.0/10"),
	blocks("an address for benchmarks", "198.18.0.0/15"),
)

// special is the rest of what IANA's registries of special-purpose addresses set aside, and one address that is public by its
// looks only: 168.63.129.16 is the platform itself in every machine at Azure.
var special = join(
	blocks("an address of this network", "0.0.0.0/8", "::/128"),
	blocks("a link-local address", "169.254.0.0/16", "fe80::/10"),
	blocks("a site-local address", "fec0::/10"),
	blocks("a multicast address", "224.0.0.0/4", "ff00::/8"),
	blocks("a reserved address", "192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24", "240.0.0.0/4"),
	blocks("an address of a cloud's platform", "168.63.129.16/32"),
	blocks("a documentation address", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
	// Tunnels that carry an IPv4 address inside: nobody serves pages on them, so what they embed need not be looked at.
	blocks("a 6to4 address", "2002::/16"),
	blocks("a Teredo or other protocol address", "2001::/23"),
	blocks("a reserved address", "2620:4f:8000::/48"),
)

var (
	unicast6 = netip.MustParsePrefix("2000::/3")     // all that IANA has given out
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes are an IPv4 address
	isatap   = [...]byte{0x00, 0x00, 0x5e, 0xfe}     // RFC 5214: bytes 8 to 11; an IPv4 address follows
	isatapG  = [...]byte{0x02, 0x00, 0x5e, 0xfe}     // the same with the "global" bit
)

// kindOf names what a is if it is not public; "" if it is. a is not IPv4-mapped.
func kindOf(a netip.Addr) string {
	for _, list := range [][]block{private, special} {
		for _, r := range list {
			if r.prefix.Contains(a) {
				return r.kind
			}
		}
	}
	if a.Is4() {
		return ""
	}
	b := a.As16()
	embedded := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case nat64.Contains(a): // what a NAT64 network answers for every host without IPv6: as good as what is inside
		return kindOf(embedded)
	case !unicast6.Contains(a):
		return "a reserved address"
	case [4]byte(b[8:12]) == isatap || [4]byte(b[8:12]) == isatapG:
		return kindOf(embedded)
	}
	return ""
}
