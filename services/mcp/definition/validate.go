package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a definition.
const (
	maxTimeout     = time.Hour
	maxIdleTimeout = 24 * time.Hour
	maxEntries     = 1000      // of each list and map
	maxText        = 32 << 10  // of one text, in bytes
	maxDefinition  = 128 << 10 // of all together, in bytes: it has to fit into jetclaw.yaml beside others
)

// checks collects what is wrong.
type checks struct{ found []Issue }

func (c *checks) add(level, setting, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if setting != "" {
		text = setting + " " + text
	}
	c.found = append(c.found, Issue{Level: level, Setting: setting, Message: text})
}

func (c *checks) fail(setting, format string, args ...any) {
	c.add(LevelError, setting, format, args...)
}

// Validate says why the server cannot be used as it is written; nothing but errors. No message holds a value of env, headers,
// arguments or an address.
func (d Definition) Validate() []Issue {
	c := &checks{}
	switch {
	case d.Command == "" && d.URL == "":
		c.fail("", "needs command or url")
	case d.Command != "" && d.URL != "":
		c.fail("", "has command and url; keep one of them")
	case d.URL != "":
		d.checkHTTP(c)
	default:
		d.checkStdio(c)
	}
	d.checkLimits(c)
	d.checkUse(c)
	d.checkTexts(c)
	return c.found
}

func (d Definition) checkStdio(c *checks) {
	if strings.TrimSpace(d.Command) == "" {
		c.fail("command", "is blank; name a program")
	}
	if d.Transport != "" && d.Transport != Stdio {
		c.fail("transport", "of a command is stdio; leave it out")
	}
	for _, other := range []struct {
		setting string
		set     bool
	}{
		{"headers", len(d.Headers) > 0},
		{"auth", d.Auth != ""},
		{"oauth", d.OAuth != nil},
		{"sslVerify", d.SSLVerify != nil},
		{"caCert", d.CACert != ""},
		{"clientCert", d.ClientCert != ""},
		{"clientKey", d.ClientKey != ""},
	} {
		if other.set {
			c.fail(other.setting, "is for a url, not for a command")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '=' || r == 0x7f }) {
			c.fail("env", "has a name that no variable has: %q", name)
		}
	}
}

func (d Definition) checkHTTP(c *checks) {
	if d.Transport != "" && d.Transport != StreamableHTTP && d.Transport != SSE {
		c.fail("transport", "must be one of %s, %s", StreamableHTTP, SSE)
	}
	if len(d.Args) > 0 {
		c.fail("args", "are for a command, not for a url")
	}
	if len(d.Env) > 0 {
		c.fail("env", "is for a command, not for a url; what a server at a url needs to know goes into headers")
	}
	if d.Cwd != "" {
		c.fail("cwd", "is for a command, not for a url")
	}
	if err := checkAddress(d.URL); err != nil {
		c.fail("url", "%s", err)
	}
	if d.Auth != "" && d.Auth != "oauth" {
		c.fail("auth", "must be oauth, or left out")
	}
	if (d.ClientCert == "") != (d.ClientKey == "") {
		c.fail("clientCert", "and clientKey go together; one of them is missing")
	}
	d.checkHeaders(c)
	d.checkOAuth(c)
}

// checkAddress is parseAddress for a text with references, of which the values are not known.
func checkAddress(text string) error {
	parts, err := pieces(text)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, p := range parts {
		switch {
		case p.variable == "":
			b.WriteString(p.literal)
		case i == 0:
			return nil // it can be the whole beginning
		default:
			b.WriteByte('1') // fits into a host, a port and a path
		}
	}
	_, err = parseAddress(b.String())
	return err
}

// ownHeaders are written by the transport.
var ownHeaders = []string{
	"accept", "connection", "content-length", "content-type", "host", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version",
	"mcp-session-id", "te", "trailer", "transfer-encoding", "upgrade",
}

func (d Definition) checkHeaders(c *checks) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		low := strings.ToLower(name)
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !headerRune(r) }):
			c.fail("headers", "has a name that no header has: %q", name)
		case slices.Contains(ownHeaders, low):
			c.fail("headers."+name, "is written by jetclaw itself; leave it out")
		case seen[low]:
			c.fail("headers."+name, "is given twice, in other letters; keep one")
		default:
			if err := headerText(d.Headers[name]); err != nil {
				c.fail("headers."+name, "%s", err)
			}
		}
		seen[low] = true
	}
}

func headerRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// headerText says why a value cannot be that of a header.
func headerText(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("holds a line break or another character that no header has")
	}
	return nil
}

func (d Definition) checkOAuth(c *checks) {
	o := d.OAuth
	if o == nil {
		return
	}
	if o.RedirectURL != "" {
		a, err := parseAddress(o.RedirectURL)
		switch {
		case err != nil:
			c.fail("oauth.redirectUrl", "%s", err)
		case a.scheme != "https" && !a.loopback():
			c.fail("oauth.redirectUrl", "must be https, or http on this machine as http://127.0.0.1:PORT/callback")
		case a.user != "" || a.hash != "":
			c.fail("oauth.redirectUrl", "must not hold a user or a #")
		}
	}
	if o.ClientMetadataURL != "" {
		a, err := parseAddress(o.ClientMetadataURL)
		switch {
		case err != nil:
			c.fail("oauth.clientMetadataUrl", "%s", err)
		case a.scheme != "https" || a.path == "" || a.path == "/" || a.user != "" || a.hash != "":
			c.fail("oauth.clientMetadataUrl", "must be https, with a path, as https://example.org/client.json")
		}
	}
	if o.Issuer != "" {
		if a, err := parseAddress(o.Issuer); err != nil {
			c.fail("oauth.issuer", "%s", err)
		} else if a.user != "" || a.hash != "" {
			c.fail("oauth.issuer", "must not hold a user or a #")
		}
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		c.fail("oauth.clientSecret", "is of no use without oauth.clientId")
	}
}

func (d Definition) checkLimits(c *checks) {
	for _, t := range []struct {
		setting string
		ms      int
		most    time.Duration
	}{
		{"requestTimeoutMs", d.RequestTimeoutMs, maxTimeout},
		{"connectionTimeoutMs", d.ConnectionTimeoutMs, maxTimeout},
		{"idleTimeoutMs", d.IdleTimeoutMs, maxIdleTimeout},
	} {
		if t.ms < 0 || t.ms > int(t.most.Milliseconds()) {
			c.fail(t.setting, "must be between 1 and %d, or 0 for the default", t.most.Milliseconds())
		}
	}
	for _, n := range []struct {
		setting string
		entries int
	}{{"args", len(d.Args)}, {"env", len(d.Env)}, {"headers", len(d.Headers)}, {"roots", len(d.Roots)}} {
		if n.entries > maxEntries {
			c.fail(n.setting, "has more than %d entries", maxEntries)
		}
	}
	if len(d.encoded()) > maxDefinition {
		c.fail("", "is larger than %d KiB", maxDefinition>>10)
	}
}

func (d Definition) checkUse(c *checks) {
	if !slices.Contains([]Approval{"", Prompt, Auto, Approve}, d.Approval) {
		c.fail("approval", "must be one of %s, %s, %s", Auto, Prompt, Approve)
	}
	if !slices.Contains([]Scope{"", Shared, PerSession}, d.Scope) {
		c.fail("scope", "must be one of %s, %s", Shared, PerSession)
	}
	for i, r := range d.Roots {
		if strings.TrimSpace(r) == "" {
			c.fail("roots["+strconv.Itoa(i)+"]", "is blank; name a folder")
		}
	}
	if d.ToolFilter == nil {
		return
	}
	for _, list := range []struct {
		setting string
		globs   []string
	}{{"toolFilter.include", d.ToolFilter.Include}, {"toolFilter.exclude", d.ToolFilter.Exclude}} {
		if len(list.globs) > maxEntries {
			c.fail(list.setting, "has more than %d entries", maxEntries)
		}
		for i, g := range list.globs {
			const longest = 256 // two names of the longest kind
			if g == "" || len(g) > longest || strings.ContainsFunc(g, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f }) {
				c.fail(list.setting+"["+strconv.Itoa(i)+"]", "must be the name of one tool, in which * stands for anything")
			}
		}
	}
}

// checkTexts looks at what can be wrong with any text.
func (d Definition) checkTexts(c *checks) {
	d.rewrite(func(s setting, text string) string {
		if _, _, err := s.reference(text); err != nil {
			c.fail(s.path, "%s", err)
		} else if _, err := pieces(text); err != nil && s.kind != clientSecret && s.kind != location {
			c.fail(s.path, "%s", err)
		}
		return text
	})
	for _, t := range d.texts() {
		switch {
		case len(t.text) > maxText:
			c.fail(t.setting, "is longer than %d KiB", maxText>>10)
		case strings.ContainsRune(t.text, 0):
			c.fail(t.setting, "holds a zero byte")
		case !utf8.ValidString(t.text):
			c.fail(t.setting, "is no UTF-8 text")
		}
	}
}

type settingText struct{ setting, text string }

// texts are all texts of d, names included.
func (d Definition) texts() []settingText {
	all := []settingText{
		{"command", d.Command}, {"cwd", d.Cwd}, {"url", d.URL}, {"caCert", d.CACert}, {"clientCert", d.ClientCert}, {"clientKey", d.ClientKey},
	}
	if o := d.OAuth; o != nil {
		all = append(all, []settingText{
			{"oauth.scope", o.Scope},
			{"oauth.redirectUrl", o.RedirectURL},
			{"oauth.clientId", o.ClientID},
			{"oauth.clientMetadataUrl", o.ClientMetadataURL},
			{"oauth.issuer", o.Issuer},
			{"oauth.clientSecret", o.ClientSecret},
		}...)
	}
	lists := map[string][]string{"args": d.Args, "roots": d.Roots}
	if f := d.ToolFilter; f != nil {
		lists["toolFilter.include"], lists["toolFilter.exclude"] = f.Include, f.Exclude
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		for i, text := range lists[name] {
			all = append(all, settingText{name + "[" + strconv.Itoa(i) + "]", text})
		}
	}
	for setting, entries := range map[string]map[string]string{"env": d.Env, "headers": d.Headers} {
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			all = append(all, settingText{setting, name}, settingText{setting + "." + name, entries[name]})
		}
	}
	return all
}
