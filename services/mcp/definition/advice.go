package definition

import (
	"maps"
	"slices"
	"strings"
)

// Advice says what of a usable definition its owner should know: warnings, and infos.
func (d Definition) Advice() []Issue {
	c := &checks{}
	if !d.IsEnabled() {
		c.add(LevelInfo, "", "server is disabled")
	}
	if d.Command != "" {
		d.adviseStdio(c)
	} else {
		d.adviseHTTP(c)
	}
	d.rewrite(func(s setting, text string) string {
		if len(s.literals(text)) > 0 {
			c.add(LevelWarning, s.path, "contains a literal sensitive value; write %s", s.instead())
		}
		return text
	})
	if d.OAuth != nil && d.OAuth.ClientSecret != "" && d.OAuth.Issuer == "" {
		c.add(LevelWarning, "", "oauth.clientSecret goes to whichever authorization server the MCP server names; write the right one as oauth.issuer")
	}
	for _, t := range []struct {
		setting string
		ms      int
	}{{"requestTimeoutMs", d.RequestTimeoutMs}, {"connectionTimeoutMs", d.ConnectionTimeoutMs}, {"idleTimeoutMs", d.IdleTimeoutMs}} {
		if t.ms > 0 && t.ms < 500 {
			c.add(LevelWarning, t.setting, "is less than half a second: it is in milliseconds")
		}
	}
	return c.found
}

// instead says how a secret is written in this place.
func (s setting) instead() string {
	if s.kind < variable {
		return "${NAME}, and put the value into the environment variable NAME"
	}
	return "env:NAME or file:PATH"
}

func (d Definition) adviseStdio(c *checks) {
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		if Blocked(name) {
			c.found = append(c.found, Issue{
				Level: LevelWarning, Setting: "env." + name, Message: "env " + name + " is blocked for stdio servers and will be ignored",
			})
		}
	}
	if len(d.Args) == 0 && strings.Contains(strings.TrimSpace(d.Command), " ") && !pathlike(d.Command) {
		c.add(LevelWarning, "command", "holds a space: it is the name of one program; its arguments go into args")
	}
}

func (d Definition) adviseHTTP(c *checks) {
	if !d.VerifiesTLS() {
		c.add(LevelWarning, "sslVerify", "is false: whoever is on the way to the server can read and change everything")
	}
	if a, err := parseAddress(d.URL); err == nil && a.scheme == "http" && !a.loopback() {
		c.add(LevelWarning, "url", "is plain http: everything crosses the network unencrypted; use https")
	}
	if d.Transport == SSE {
		c.add(LevelInfo, "transport", "sse is deprecated by the protocol; use streamable-http where the server offers it")
	}
	if d.OAuth != nil && d.Auth == "" {
		c.add(LevelWarning, "oauth", `has no effect without auth: "oauth"`)
	}
	if d.Auth != "" {
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			if strings.EqualFold(name, "Authorization") {
				c.add(LevelInfo, "headers."+name, `is ignored while auth is "oauth"`)
			}
		}
	}
}
