package httpguard

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Hosts are the names that a door answers to: those of loopback, the one that it listens on, and what the operator adds for a
// proxy before it. The zero value knows none.
type Hosts struct {
	names map[string]bool // in lower case, without port and brackets
}

// NewHosts takes the address to listen on, "host:port", and further names without ports.
func NewHosts(listen string, more ...string) Hosts {
	h := Hosts{names: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}}
	if name, _, err := net.SplitHostPort(listen); err == nil {
		h.add(name)
	}
	for _, name := range more {
		h.add(name)
	}
	return h
}

// add leaves out what stands for all addresses of a machine: it is no name that anybody calls it by.
func (h Hosts) add(name string) {
	name = bare(name)
	if ip := net.ParseIP(name); name != "" && (ip == nil || !ip.IsUnspecified()) {
		h.names[name] = true
	}
}

func bare(name string) string { return strings.ToLower(strings.Trim(name, "[]")) }

// Host says whether the Host of a request, with or without a port, is one of ours. The browser of a person who visits a web page
// whose name was rebound to 127.0.0.1 sends that name. Ports are not looked at: a proxy may have another.
func (h Hosts) Host(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return h.names[bare(host)]
}

// Origin says whether a request may come from where it says that it comes from. Programs send no Origin; a web page's has to
// be http or https on one of our names, and "null", which any page can get itself, is foreign.
//
// The port is not compared. Behind a proxy the door cannot know the one that browsers see, and a page on another port of this
// machine gains nothing by it: browsers do not add bearer tokens by themselves, and no door of ours sends CORS headers.
func (h Hosts) Origin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if origins[0] != u.Scheme+"://"+u.Host { // an origin has no user, path, query or fragment, not even empty ones
		return false
	}
	return h.Host(u.Host)
}
