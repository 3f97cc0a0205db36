package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Sessions of this channel are main.http.<token name>.<name>.
const (
	agent   = "main"
	channel = "http"
)

// caller is who holds a token.
type caller struct {
	name   string
	digest [sha256.Size]byte // of the token: equal lengths, so that comparing tells nothing
}

// id is the identity of what the caller writes.
func (c caller) id() string { return channel + ":" + c.name }

func callersOf(tokens map[string]string) []caller {
	out := make([]caller, 0, len(tokens))
	for name, token := range tokens {
		out = append(out, caller{name, sha256.Sum256([]byte(token))})
	}
	return out
}

// authenticate looks at every token, whichever fits, so that its time tells nothing either.
func (s *Server) authenticate(r *http.Request) (caller, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return caller{}, false
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := -1
	for i := range s.callers {
		if subtle.ConstantTimeCompare(digest[:], s.callers[i].digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return caller{}, false
	}
	return s.callers[found], true
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
func hostsOf(listen string, more []string) map[string]bool {
	hosts := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	if h, _, err := net.SplitHostPort(listen); err == nil {
		hosts[h] = true
	}
	for _, h := range more {
		hosts[strings.ToLower(h)] = true
	}
	return hosts
}

// knownHost is false for a name that somebody else's DNS points here.
func (s *Server) knownHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return s.hosts[strings.ToLower(strings.Trim(host, "[]"))]
}
