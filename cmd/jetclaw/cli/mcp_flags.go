package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// mcpFlags are what add and configure can say of a server.
type mcpFlags struct {
	connectTimeout, timeout, idleTimeout seconds
	include, exclude                     []string // comma-separated lists
	roots                                []string
	approval, scope, auth, sslVerify     choice
	oauth                                definition.OAuth
	caCert, clientCert, clientKey        string
	parallel, elicitation                bool
}

// register adds the flags that both commands have.
func (o *mcpFlags) register(c *cobra.Command) {
	f := c.Flags()
	o.approval = choice{allowed: []string{string(definition.Auto), string(definition.Prompt), string(definition.Approve)}}
	o.scope = choice{allowed: []string{string(definition.Shared), string(definition.PerSession)}}
	o.auth = choice{allowed: []string{"oauth"}}
	o.sslVerify = choice{allowed: []string{"true", "false"}}
	f.Var(&o.timeout, "timeout", "how long a request may take")
	f.Var(&o.connectTimeout, "connect-timeout", "how long connecting may take")
	f.Var(&o.idleTimeout, "idle-timeout", "after how long a connection that nobody uses is closed")
	f.StringArrayVar(&o.include, "include", nil, "comma-separated `names` of tools, or globs with *, to offer to agents; all without it")
	f.StringArrayVar(&o.exclude, "exclude", nil, "comma-separated `names` of tools, or globs with *, to hide")
	f.Var(&o.approval, "approval", "which calls a person is asked about: prompt, each; auto, those of tools that the server does not call "+
		"read-only; approve, none")
	f.Var(&o.scope, "scope", "who shares a connection: shared, all conversations; session, none: each has its own")
	f.BoolVar(&o.parallel, "parallel", false, "the server can take several calls at once")
	f.BoolVar(&o.elicitation, "elicitation", false, "the server may ask the person questions")
	f.StringArrayVar(&o.roots, "root", nil, "a `folder` that the server is told it may work in; can be given several times")
	f.Var(&o.auth, "auth", "how to log in to an HTTP server: oauth")
	f.StringVar(&o.oauth.Scope, "oauth-scope", "", "OAuth `scope` to ask for")
	f.StringVar(&o.oauth.RedirectURL, "oauth-redirect-url", "", "`URL` that the browser comes back to after a login")
	f.StringVar(&o.oauth.ClientMetadataURL, "oauth-client-metadata-url", "", "`URL` of a document that describes this client")
	f.StringVar(&o.oauth.ClientID, "oauth-client-id", "", "`id` of a client that was registered beforehand")
	f.StringVar(&o.oauth.ClientSecret, "oauth-client-secret", "", "its secret, as `env:NAME` or file:PATH")
	f.Var(&o.sslVerify, "ssl-verify", "whether to verify the certificate of an HTTPS server: true or false")
	f.StringVar(&o.caCert, "ca-cert", "", "`file` of certificate authorities beside those of the system")
	f.StringVar(&o.clientCert, "client-cert", "", "`file` of this client's certificate (mutual TLS)")
	f.StringVar(&o.clientKey, "client-key", "", "`file` of its key")
	for _, name := range []string{
		"timeout", "connect-timeout", "idle-timeout", "include", "exclude", "oauth-scope", "oauth-redirect-url",
		"oauth-client-metadata-url", "oauth-client-id", "oauth-client-secret",
	} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions) // it fails for a flag that is not there
	}
	_ = c.MarkFlagDirname("root") // likewise
	complete(c, "approval", o.approval.allowed...)
	complete(c, "scope", o.scope.allowed...)
	complete(c, "auth", o.auth.allowed...)
	complete(c, "ssl-verify", o.sslVerify.allowed...)
}

// complete offers the words that a flag takes.
func complete(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // it fails for a flag that is not there
}

// httpFlags are those that say something of an HTTP server only.
var httpFlags = []string{
	"transport", "header", "auth", "oauth-scope", "oauth-redirect-url", "oauth-client-metadata-url", "oauth-client-id",
	"oauth-client-secret", "ssl-verify", "ca-cert", "client-cert", "client-key",
}

// apply changes a server by the flags that were given.
func (o *mcpFlags) apply(f *pflag.FlagSet, d *definition.Definition) error {
	given := func(name string) bool { return f.Changed(name) }
	if d.URL == "" {
		if i := slices.IndexFunc(httpFlags, given); i >= 0 {
			return usagef("--%s is for servers with a URL", httpFlags[i])
		}
	}
	for name, t := range map[string]struct {
		from seconds
		to   *int
	}{
		"timeout": {o.timeout, &d.RequestTimeoutMs}, "connect-timeout": {o.connectTimeout, &d.ConnectionTimeoutMs},
		"idle-timeout": {o.idleTimeout, &d.IdleTimeoutMs},
	} {
		if given(name) {
			*t.to = int(time.Duration(t.from).Milliseconds())
		}
	}
	if err := o.filter(f, d); err != nil {
		return err
	}
	if given("approval") {
		d.Approval = definition.Approval(o.approval.word)
	}
	if given("scope") {
		d.Scope = definition.Scope(o.scope.word)
	}
	if given("parallel") {
		d.SupportsParallelToolCalls = o.parallel
	}
	if given("elicitation") {
		d.Elicitation = o.elicitation
	}
	if given("root") {
		d.Roots = nil
		for _, r := range o.roots {
			if r != "" {
				d.Roots = append(d.Roots, fromHere(r))
			}
		}
	}
	o.security(given, d)
	if d.OAuth != nil && d.Auth != "oauth" {
		return usagef("the --oauth flags need --auth oauth")
	}
	return nil
}

// security sets how a connection is made safe.
func (o *mcpFlags) security(given func(string) bool, d *definition.Definition) {
	if given("auth") {
		d.Auth = o.auth.word
	}
	var oauth definition.OAuth
	if d.OAuth != nil {
		oauth = *d.OAuth
	}
	texts := []struct {
		flag string
		from string
		to   *string
	}{
		{"oauth-scope", o.oauth.Scope, &oauth.Scope},
		{"oauth-redirect-url", o.oauth.RedirectURL, &oauth.RedirectURL},
		{"oauth-client-metadata-url", o.oauth.ClientMetadataURL, &oauth.ClientMetadataURL},
		{"oauth-client-id", o.oauth.ClientID, &oauth.ClientID},
		{"oauth-client-secret", o.oauth.ClientSecret, &oauth.ClientSecret},
		{"ca-cert", fromHere(o.caCert), &d.CACert},
		{"client-cert", fromHere(o.clientCert), &d.ClientCert},
		{"client-key", fromHere(o.clientKey), &d.ClientKey},
	}
	for _, t := range texts {
		if given(t.flag) {
			*t.to = t.from
		}
	}
	d.OAuth = nil
	if oauth != (definition.OAuth{}) {
		d.OAuth = &oauth
	}
	if given("ssl-verify") {
		verify := o.sslVerify.word == "true"
		d.SSLVerify = &verify
	}
}

// filter sets which tools are offered. Each flag sets its own list.
func (o *mcpFlags) filter(f *pflag.FlagSet, d *definition.Definition) error {
	var t definition.ToolFilter
	if d.ToolFilter != nil {
		t = *d.ToolFilter
	}
	for name, list := range map[string]struct {
		from []string
		to   *[]string
	}{"include": {o.include, &t.Include}, "exclude": {o.exclude, &t.Exclude}} {
		if !f.Changed(name) {
			continue
		}
		globs := separated(list.from)
		if len(globs) == 0 {
			return usagef("--%s names no tool", name)
		}
		*list.to = globs
	}
	d.ToolFilter = nil
	if len(t.Include) > 0 || len(t.Exclude) > 0 {
		d.ToolFilter = &t
	}
	return nil
}

// separated are the words of comma-separated lists.
func separated(lists []string) (words []string) {
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// fromHere makes a path absolute: whoever starts the server stands elsewhere. One with a reference is left as it is.
func fromHere(path string) string {
	if path == "" || strings.Contains(path, "${") || strings.HasPrefix(path, "~") {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// pairs reads entries of a flag. What is wrong with one is told without repeating it: it may be a secret.
func pairs(flag string, entries []string, separators, form string) (map[string]string, error) {
	all := map[string]string{}
	for _, e := range entries {
		at := strings.IndexAny(e, separators)
		if at <= 0 {
			return nil, usagef("--%s takes %s", flag, form)
		}
		name, value := strings.TrimSpace(e[:at]), e[at+1:]
		if flag == "header" {
			value = strings.TrimSpace(value)
		}
		if _, twice := all[name]; twice {
			return nil, usagef("--%s %s is given twice", flag, name)
		}
		all[name] = value
	}
	return all, nil
}

// seconds is a flag: a time in seconds.
type seconds time.Duration

// longest is the longest time that can be configured of anything.
const longest = 24 * time.Hour

func (t *seconds) String() string {
	if *t == 0 {
		return ""
	}
	return strconv.FormatFloat(time.Duration(*t).Seconds(), 'f', -1, 64)
}

// Set reads it.
func (t *seconds) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0.001 && n <= longest.Seconds()) { // so written, it refuses NaN too
		return fmt.Errorf("must be a number of seconds, at most %.0f", longest.Seconds())
	}
	*t = seconds(time.Duration(n * float64(time.Second)))
	return nil
}

// Type is shown in the help.
func (t *seconds) Type() string { return "seconds" }

// choice is a flag: one of some words.
type choice struct {
	word    string
	allowed []string
}

func (c *choice) String() string { return c.word }

// Set reads it.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		hint := ""
		if n := suggest.Nearest(text, c.allowed); n != "" {
			hint = "; did you mean " + n + "?"
		}
		return errors.New("must be " + strings.Join(c.allowed, " or ") + hint)
	}
	c.word = text
	return nil
}

// Type is shown in the help.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }
