package oauth

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// canonical is the URL that credentials belong to: without query, fragment and userinfo, which may carry secrets and would go
// to the authorization server with it.
func canonical(d definition.Definition) (*url.URL, error) {
	u, err := url.Parse(d.URL)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return nil, errors.New("the server has no usable URL: oauth is for servers that are reached over HTTP")
	}
	c := &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	switch {
	case c.Scheme == "https":
		c.Host = strings.TrimSuffix(c.Host, ":443")
	case c.Scheme == "http" && isLoopback(c.Hostname()):
		c.Host = strings.TrimSuffix(c.Host, ":80")
	case c.Scheme == "http":
		return nil, fmt.Errorf("tokens would go to %s in the clear: its URL has to be https", c.Host)
	default:
		return nil, fmt.Errorf("a server with oauth is reached over https, not %q", u.Scheme)
	}
	return c, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isPrivate says what no URL of a server may lead to: addresses of networks that are not the internet. Loopback is another
// question.
func isPrivate(ip netip.Addr) bool {
	ip = ip.Unmap()
	return !ip.IsValid() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || carrier.Contains(ip)
}

var carrier = netip.MustParsePrefix("100.64.0.0/10") // of carriers, behind their NAT

// checkEndpoint says whether a URL that a server names may be used. server is the URL of the MCP server.
func checkEndpoint(what, raw string, server *url.URL) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("the %s that the server names is no usable URL", what)
	}
	local := isLoopback(u.Hostname())
	ip, _ := netip.ParseAddr(u.Hostname()) // a name is looked at when it is dialled
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !local):
		return fmt.Errorf("the %s that the server names, at %s, is not https", what, u.Host)
	case local && !isLoopback(server.Hostname()):
		return fmt.Errorf("the %s that the server names, at %s, is on this machine; the server is not", what, u.Host)
	case ip.IsValid() && isPrivate(ip) && !strings.EqualFold(u.Hostname(), server.Hostname()):
		return fmt.Errorf("the %s that the server names, at %s, is in a private network", what, u.Host)
	}
	return nil
}

// hostOf is for errors: a path or a query may carry a secret.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "an unusable URL"
	}
	return u.Host
}
