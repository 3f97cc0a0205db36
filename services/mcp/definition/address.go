package definition

import (
	"errors"
	"strconv"
	"strings"
)

// address are the parts of a URL, as they are written. Package net/url is not for pure packages, and it drops what it does not
// keep; here the parts joined are the text again.
type address struct {
	scheme string // in lower case
	user   string // what stands before the @; "" without
	host   string // a name, or an IP address; IPv6 without its brackets
	port   string
	path   string
	query  string // without its ?
	hash   string // without its #
}

var errAddress = errors.New("must be an address as https://host/path")

// parseAddress takes an http or https URL apart. The error never quotes it: it may hold a secret.
func parseAddress(text string) (address, error) {
	var a address
	scheme, rest, ok := strings.Cut(text, "://")
	if a.scheme = strings.ToLower(scheme); !ok || a.scheme != "http" && a.scheme != "https" {
		return a, errAddress
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		return a, errors.New("holds a space or another character that must be percent-encoded in an address")
	}
	if !percents(text) {
		return a, errors.New("holds a % that begins no percent-encoded character")
	}
	rest, a.hash, _ = strings.Cut(rest, "#")
	rest, a.query, _ = strings.Cut(rest, "?")
	authority := rest
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, a.path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		a.user, authority = authority[:i], authority[i+1:]
	}
	return a, a.hostAndPort(authority)
}

func (a *address) hostAndPort(authority string) error {
	host, port, v6 := authority, "", false
	if rest, ok := strings.CutPrefix(authority, "["); ok {
		if host, port, v6 = strings.Cut(rest, "]"); !v6 || strings.Trim(host, "0123456789abcdefABCDEF:.%") != "" || !strings.Contains(host, ":") {
			return errAddress
		}
	} else if i := strings.IndexByte(authority, ':'); i >= 0 {
		host, port = authority[:i], authority[i:]
	}
	if !v6 && (host == "" || strings.ContainsAny(host, "@[]%!$&'()*+,;=~")) {
		return errAddress
	}
	a.host = host
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
	if err != nil || n == 0 || port[0] != ':' {
		return errors.New("has a port that is no number from 1 to 65535")
	}
	a.port = port[1:]
	return nil
}

// percents says whether each % begins a percent-encoded character.
func percents(text string) bool {
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			return true
		}
		text = text[i+1:]
		if len(text) < 2 || strings.Trim(text[:2], "0123456789abcdefABCDEF") != "" {
			return false
		}
	}
}

// loopback says whether the host is this very machine.
func (a address) loopback() bool {
	switch host := strings.ToLower(strings.TrimSuffix(a.host, ".")); {
	case host == "localhost", strings.HasSuffix(host, ".localhost"), host == "::1", host == "0:0:0:0:0:0:0:1":
		return true
	default:
		return ipv4Loopback(host)
	}
}

// ipv4Loopback knows addresses of 127.0.0.0/8 in their usual form. "127.example.org" is none.
func ipv4Loopback(host string) bool {
	parts := strings.Split(host, ".")
	if len(parts) != 4 || parts[0] != "127" {
		return false
	}
	for _, p := range parts {
		if n, err := strconv.ParseUint(p, 10, 8); err != nil || strconv.FormatUint(n, 10) != p {
			return false
		}
	}
	return true
}
