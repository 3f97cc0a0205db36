package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const maxURL = 8 << 10

// target reads an address and refuses what is never fetched. What it returns has an ASCII host, no user and no fragment. Its
// errors hold nothing of the address.
func target(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > maxURL {
		return nil, errors.New("the address is too long")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the address cannot be read") // the parser's error quotes it
	}
	return u, check(u)
}

// check is target for an address that is parsed already: where a redirect leads.
func check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return errors.New("the address has to begin with http:// or https://")
	case u.User != nil:
		return errors.New("the address holds a user or password: that is not sent")
	case len(u.String()) > maxURL:
		return errors.New("the address is too long")
	}
	switch u.Port() {
	case "", "80", "443":
	default:
		return errors.New("only the ports 80 and 443 are fetched from")
	}
	host, err := plainHost(u.Hostname())
	if err != nil {
		return err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" {
		host += ":" + p
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return nil
}

var errHost = errors.New("the address has no host that could be called")

// plainHost is a host as it is dialled: an address in its usual spelling, or a name in ASCII.
func plainHost(host string) (string, error) {
	if strings.Contains(host, ":") { // it stood in brackets
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", errHost
		}
		return a.String(), nil
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r > '~' }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", errHost
		}
		host = ascii // full-width digits and dots are now plain ones
	}
	host = strings.ToLower(host)
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(host) > 253 {
		return "", errHost
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.ContainsFunc(l, func(r rune) bool { return !strings.ContainsRune(hostChars, r) }) {
			return "", errHost
		}
	}
	if last := labels[len(labels)-1]; numeric(last) {
		a, err := number4(labels)
		if err != nil {
			return "", err
		}
		return a.String(), nil
	}
	return host, nil
}

const hostChars = "abcdefghijklmnopqrstuvwxyz0123456789-_"

// numeric says that a host whose last label this is has to be an IPv4 address (the URL standard's "ends in a number").
func numeric(label string) bool {
	_, err := number(label)
	return err == nil || errors.Is(err, strconv.ErrRange) || strings.Trim(label, "0123456789") == ""
}

// number reads decimal, octal (0…) and hexadecimal (0x…).
func number(s string) (uint64, error) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" && base == 16 {
		return 0, nil
	}
	if strings.HasPrefix(s, "_") || strings.ContainsAny(s, "+-_") {
		return 0, errHost
	}
	return strconv.ParseUint(s, base, 32)
}

// number4 reads an IPv4 address as browsers do: up to four numbers, the last of which fills what is left.
func number4(labels []string) (netip.Addr, error) {
	bad := fmt.Errorf("%w: a host that ends in a number has to be an IPv4 address", errHost)
	if len(labels) > 4 {
		return netip.Addr{}, bad
	}
	var v uint64
	for i, l := range labels {
		n, err := number(l)
		if err != nil {
			return netip.Addr{}, bad
		}
		if i < len(labels)-1 {
			if n > 255 {
				return netip.Addr{}, bad
			}
			v |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(5-len(labels))) {
			return netip.Addr{}, bad
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), nil
}
