package turns

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/jetclaw/jetclaw/services/turns/offer"
)

// dialectOf is what m's provider understands of the schemas of tools. A model keeps its vendor's rules when somebody else
// passes requests on to it; what runs nearby is built on llama.cpp more often than not.
func dialectOf(m Model) offer.Dialect {
	_, name, _ := strings.Cut(strings.ToLower(m.Name()), "/")
	host := ""
	if u, err := url.Parse(m.Endpoint()); err == nil {
		host = u.Hostname()
	}
	var api API
	if l, ok := m.(*listed); ok {
		api = l.api
	}
	switch {
	case host == "generativelanguage.googleapis.com", strings.HasSuffix(host, "aiplatform.googleapis.com"), strings.Contains(name, "gemini"):
		return offer.Gemini
	case api == Anthropic, strings.Contains(name, "claude"):
		return offer.Anthropic
	case nearby(host):
		return offer.Local
	}
	return offer.OpenAI
}

// nearby says whether a host is this machine, or one of the same network.
func nearby(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host != "" && !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}
