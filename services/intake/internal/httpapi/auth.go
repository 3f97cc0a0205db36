package httpapi

import (
	"net/http"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// Sessions of this channel are main.http.<token name>.<name>.
const (
	agent   = "main"
	channel = "http"
)

// caller is who holds a token.
type caller struct{ name string }

// id is the identity of what the caller writes.
func (c caller) id() string { return channel + ":" + c.name }

func callersOf(tokens map[string]string) httpguard.Tokens {
	return httpguard.NewTokens(httpguard.Fixed(tokens))
}

func (s *Server) authenticate(r *http.Request) (caller, bool) {
	name, err := s.callers.Caller(r)
	return caller{name}, err == nil
}

// sessions is how the full ids of the caller's sessions begin.
func (c caller) sessions() string { return agent + "." + channel + "." + session.Escape(c.name) + "." }

// session reads a name or a full id, which has to be the caller's own.
func (c caller) session(s string) (session.ID, error) {
	if !strings.Contains(s, ".") {
		id, err := session.New(agent, channel, c.name, s)
		if err != nil {
			return "", fault.New(fault.Invalid, "session %q: %w", s, err)
		}
		return id, nil
	}
	id, err := session.Parse(s)
	if err != nil {
		return "", fault.New(fault.Invalid, "session: %w (a name has no dots, a full id is %sNAME)", err, c.sessions())
	}
	if !c.owns(id) {
		return "", fault.New(fault.Denied, "session %s is not one of this token: those are %sNAME", id, c.sessions())
	}
	return id, nil
}

// owns says whether a session is one of the caller's.
func (c caller) owns(id session.ID) bool {
	_, err := session.Parse(string(id))
	return err == nil && id.Agent() == agent && id.Channel() == channel && id.Account() == c.name
}

// hostsOf are the Host names that the server answers to, without ports.
func hostsOf(listen string, more []string) httpguard.Hosts {
	return httpguard.NewHosts(listen, more...)
}

// knownHost is false for a name that somebody else's DNS points here.
func (s *Server) knownHost(host string) bool { return s.hosts.Host(host) }
