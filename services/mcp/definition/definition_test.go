package definition

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) Definition {
	t.Helper()
	d, _, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}

func texts(issues []Issue) string {
	var all []string
	for _, i := range issues {
		all = append(all, i.Level+": "+i.Message)
	}
	return strings.Join(all, "\n")
}

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "7", "A-b_c", strings.Repeat("x", MaxName)} {
		if err := ValidName(good); err != nil {
			t.Error(good, err)
		}
	}
	for _, bad := range []string{"", "-a", "_a", "a b", "a.b", "a/b", "é", "a\n", "a*", strings.Repeat("x", MaxName+1)} {
		if ValidName(bad) == nil {
			t.Error(bad, "is taken")
		}
	}
	for in, want := range map[string]string{
		"files": "files", "My Files": "My-Files", "@scope/pkg.name": "scope-pkg-name", "-x-": "x-", "": "server", "é": "server", "a  b": "a-b", "ab.": "ab",
		strings.Repeat("x", 80): strings.Repeat("x", 64), strings.Repeat("x", 63) + " y": strings.Repeat("x", 63) + "y",
	} {
		got := NameFrom(in)
		if got != want || ValidName(got) != nil {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	d := parse(t, `{"command":"npx"}`)
	if d.TransportName() != Stdio || !d.IsEnabled() || !d.VerifiesTLS() || d.ApprovalMode() != Prompt || d.ScopeOr() != Shared ||
		d.RequestTimeout() != time.Minute || d.ConnectionTimeout() != time.Minute || d.IdleTimeout() != 10*time.Minute || !d.Downloads() {
		t.Errorf("%#v", d)
	}
	d = parse(t, `{"url":"https://h","enabled":false,"sslVerify":false,"approval":"auto","scope":"session","requestTimeoutMs":5}`)
	if d.TransportName() != StreamableHTTP || d.IsEnabled() || d.VerifiesTLS() || d.ApprovalMode() != Auto || d.ScopeOr() != PerSession ||
		d.RequestTimeout() != 5*time.Millisecond || d.Downloads() {
		t.Errorf("%#v", d)
	}
	for command, want := range map[string]bool{
		"/usr/bin/npx x": true, `C:\node\npx.cmd x`: true, "pnpm dlx x": true, "pnpm run x": false, "node x": false, "uvx x": true, "docker -x run y": true,
	} {
		words := strings.Fields(command)
		if got := (Definition{Command: words[0], Args: words[1:]}).Downloads(); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}

func TestSame(t *testing.T) {
	a := parse(t, `{"url":"https://h","headers":{"X":"1"}}`)
	b := parse(t, `{"url":"https://h","headers":{"X":"1"},"type":"http","enabled":true,"sslVerify":true,"approval":"prompt","scope":"shared","requestTimeoutMs":60000,
		"toolFilter":{},"oauth":{},"args":[],"supportsParallelToolCalls":false}`)
	if !a.Equal(b) || !b.Equal(a) || a.Endpoint() != b.Endpoint() {
		t.Error("defaults written out are another server")
	}
	for _, other := range []string{
		`{"url":"https://h","headers":{"X":"2"}}`, `{"url":"https://h","headers":{"X":"1"},"approval":"auto"}`, `{"url":"https://h/","headers":{"X":"1"}}`,
	} {
		if a.Equal(parse(t, other)) {
			t.Error("the same as", other)
		}
	}
	used := parse(t, `{"url":"https://h","headers":{"X":"1"},"approval":"auto","toolFilter":{"include":["a"]},"enabled":false,"supportsParallelToolCalls":true}`)
	if !a.Connects().Equal(used.Connects()) || a.Endpoint() != used.Endpoint() {
		t.Error("a change of use connects anew")
	}
	slow := parse(t, `{"url":"https://h","headers":{"X":"1"},"requestTimeoutMs":1}`)
	if a.Connects().Equal(slow.Connects()) || a.Endpoint() != slow.Endpoint() {
		t.Error("a change of a timeout does not connect anew, or moves the server")
	}
	secret := parse(t, `{"url":"https://h","headers":{"Authorization":"Bearer hunter22hunter"}}`)
	other := parse(t, `{"url":"https://h","headers":{"Authorization":"Bearer hunter23hunter"}}`)
	if secret.Endpoint() == other.Endpoint() || strings.Contains(secret.Endpoint(), "hunter") || !strings.HasPrefix(secret.Endpoint(), "streamable-http https://h headers Authorization #") {
		t.Error(secret.Endpoint())
	}
	c := used.Clone()
	c.Headers["X"], c.ToolFilter.Include[0], *c.Enabled = "2", "b", true
	if used.Headers["X"] != "1" || used.ToolFilter.Include[0] != "a" || *used.Enabled {
		t.Error("a clone shares")
	}
}

func TestValidate(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                               "needs command or url",
		`{"command":"x","url":"http://h"}`: "has command and url; keep one of them",
		`{"command":" "}`:                  "command is blank; name a program",
		`{"command":"x","headers":{"a":"b"},"auth":"oauth","sslVerify":true}`:     "headers is for a url, not for a command\nauth is for a url, not for a command\nsslVerify is for a url, not for a command",
		`{"command":"x","transport":"sse"}`:                                       "transport of a command is stdio; leave it out",
		`{"command":"x","env":{"A=B":"c"}}`:                                       `env has a name that no variable has: "A=B"`,
		`{"url":"https://h","args":["x"]}`:                                        "args are for a command, not for a url",
		`{"url":"ftp://h"}`:                                                       "url must be an address as https://host/path",
		`{"url":"https://"}`:                                                      "url must be an address as https://host/path",
		`{"url":"https://h:99999/"}`:                                              "url has a port that is no number from 1 to 65535",
		`{"url":"https://h/a b"}`:                                                 "url holds a space or another character that must be percent-encoded in an address",
		`{"url":"https://h/%zz"}`:                                                 "url holds a % that begins no percent-encoded character",
		`{"url":"https://[::1/"}`:                                                 "url must be an address as https://host/path",
		`{"url":"https://h","transport":"ftp"}`:                                   "transport must be one of stdio, streamable-http, sse",
		`{"url":"https://h","auth":"basic"}`:                                      "auth must be oauth, or left out",
		`{"url":"https://h","clientCert":"x"}`:                                    "clientCert and clientKey go together; one of them is missing",
		`{"url":"https://h","headers":{"a b":"c"}}`:                               `headers has a name that no header has: "a b"`,
		`{"url":"https://h","headers":{"A":"1\r\nB: 2"}}`:                         "headers.A holds a line break or another character that no header has",
		`{"url":"https://h","headers":{"A":"1","a":"2"}}`:                         "headers.a is given twice, in other letters; keep one",
		`{"url":"https://h","headers":{"Host":"x"}}`:                              "headers.Host is written by jetclaw itself; leave it out",
		`{"url":"https://h","auth":"oauth","oauth":{"redirectUrl":"http://h/x"}}`: "oauth.redirectUrl must be https, or http on this machine as http://127.0.0.1:PORT/callback",
		`{"url":"https://h","oauth":{"clientMetadataUrl":"http://h/x"}}`:          "oauth.clientMetadataUrl must be https, with a path, as https://example.org/client.json",
		`{"url":"https://h","oauth":{"clientSecret":"env:X"}}`:                    "oauth.clientSecret is of no use without oauth.clientId",
		`{"command":"x","requestTimeoutMs":-1,"connectionTimeoutMs":3600001}`:     "requestTimeoutMs must be between 1 and 3600000, or 0 for the default\nconnectionTimeoutMs must be between 1 and 3600000, or 0 for the default",
		`{"command":"x","approval":"never","scope":"x"}`:                          "approval must be one of auto, prompt, approve\nscope must be one of shared, session",
		`{"command":"x","toolFilter":{"include":["a,b"],"exclude":[""]}}`:         "toolFilter.include[0] must be the name of one tool, in which * stands for anything\ntoolFilter.exclude[0] must be the name of one tool, in which * stands for anything",
		`{"command":"x","args":["${A"],"env":{"B":"${x y}","C":"env:a b","D":"file:"}}`: "args[0] ${ begins no reference as ${NAME}; write $$ for a dollar sign\n" +
			"env.B ${ begins no reference as ${NAME}; write $$ for a dollar sign\nenv.C a reference is written as env:NAME, with the name of a variable\nenv.D a reference is written as file:PATH",
		`{"command":"x","roots":[""],"args":["\u0000"]}`: "roots[0] is blank; name a folder\nargs[0] holds a zero byte",
	} {
		_, _, err := Parse([]byte(in))
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
	for _, good := range []string{
		`{"url":"https://${HOST}:${PORT}/x?key=${KEY}"}`, `{"url":"${BASE}/mcp"}`, `{"url":"http://[::1]:80/mcp"}`, `{"url":"https://user:pw@h/%20"}`,
		`{"url":"https://h","oauth":{"redirectUrl":"http://127.0.0.1:7000/cb"},"auth":"oauth"}`, `{"command":"x","env":{"A":"file:///x","B":"$5","C":"env:OK"}}`,
	} {
		if _, _, err := Parse([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	big := Definition{Command: "x", Args: slices.Repeat([]string{"a"}, maxEntries+1), Cwd: strings.Repeat("x", maxText+1), Env: map[string]string{"A": "\xff"}}
	if got := texts(big.Validate()); got != "error: args has more than 1000 entries\nerror: cwd is longer than 32 KiB\nerror: env.A is no UTF-8 text" {
		t.Error(got)
	}
}

func TestAdvice(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"x","args":["--token","${T}"],"env":{"API_TOKEN":"env:T","MAX_TOKENS":"4096","TOKEN_FILE":"/x","SERVICE_CREDENTIALS":"/x.json"}}`: "",
		`{"command":"x","enabled":false}`:                       "info: server is disabled",
		`{"command":"x","env":{"NODE_OPTIONS":"--require=x"}}`:  "warning: env NODE_OPTIONS is blocked for stdio servers and will be ignored",
		`{"command":"x","env":{"API_TOKEN":"literal-secret"}}`:  "warning: env.API_TOKEN contains a literal sensitive value; write env:NAME or file:PATH",
		`{"command":"x","env":{"DB":"postgres://u:hunter@h/"}}`: "warning: env.DB contains a literal sensitive value; write env:NAME or file:PATH",
		`{"command":"npx -y x"}`:                                "warning: command holds a space: it is the name of one program; its arguments go into args",
		`{"url":"http://h/","sslVerify":false,"headers":{"X-Api-Key":"abc123secret"}}`: "warning: sslVerify is false: whoever is on the way to the server can read and change everything\n" +
			"warning: url is plain http: everything crosses the network unencrypted; use https\nwarning: headers.X-Api-Key contains a literal sensitive value; write env:NAME or file:PATH",
		`{"url":"https://u:hunter2@h/","transport":"sse"}`: "info: transport sse is deprecated by the protocol; use streamable-http where the server offers it\n" +
			"warning: url contains a literal sensitive value; write ${NAME}, and put the value into the environment variable NAME",
		`{"url":"http://127.0.0.1/","auth":"oauth","headers":{"Authorization":"Bearer ${X}"}}`: `info: headers.Authorization is ignored while auth is "oauth"`,
		`{"url":"https://h","oauth":{"scope":"x"},"requestTimeoutMs":20}`: `warning: oauth has no effect without auth: "oauth"` + "\n" +
			"warning: requestTimeoutMs is less than half a second: it is in milliseconds",
	} {
		if got := texts(parse(t, in).Advice()); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	values := map[string]string{
		"env:TOKEN": "tok-from-env", "file:keys/x": "from-file", "env:HOME": "/home/me", "env:REGION": "eu", "env:HOST": "h.example", "env:BREAK": "a\nb",
		"env:KEYED": "sk-aaaabbbbccccdddd1111",
	}
	ask := func(ref string) (string, error) {
		if v, ok := values[ref]; ok {
			return v, nil
		}
		return "", errors.New(ref + " is not set")
	}
	d := parse(t, `{"command":"${HOME}/bin/x","args":["$${HOME}","--token","${TOKEN}","$5","literal","--api-key=lit-secret"],"cwd":"${HOME}",
		"env":{"A":"env:TOKEN","B":"file:keys/x","C":"${HOME}/c","D":"env:HOME","E":"x$$y","F":"${REGION}","MY_SECRET":"lit$$eral"}}`)
	r, known, err := d.Resolve(ask)
	if err != nil {
		t.Fatal(err)
	}
	if r.Command != "/home/me/bin/x" || r.Cwd != "/home/me" || strings.Join(r.Args, " ") != "${HOME} --token tok-from-env $5 literal --api-key=lit-secret" {
		t.Errorf("%#v", r)
	}
	if raw, _ := json.Marshal(r.Env); string(raw) != `{"A":"tok-from-env","B":"from-file","C":"/home/me/c","D":"/home/me","E":"x$y","F":"eu","MY_SECRET":"lit$eral"}` {
		t.Errorf("%s", raw)
	}
	if want := []string{"from-file", "lit$eral", "lit-secret", "tok-from-env"}; !slices.Equal(known, want) {
		t.Errorf("known %q, want %q", known, want)
	}
	if want := []string{"env:HOME", "env:REGION", "env:TOKEN", "file:keys/x"}; !slices.Equal(d.References(), want) {
		t.Errorf("references %q", d.References())
	}
	if want := []string{"env:TOKEN", "file:keys/x"}; !slices.Equal(d.SecretReferences(), want) {
		t.Errorf("secret references %q", d.SecretReferences())
	}
	web := parse(t, `{"url":"https://${HOST}/?k=${KEYED}","headers":{"Authorization":"Bearer ${TOKEN}"},"auth":"oauth","oauth":{"clientId":"c","clientSecret":"file:keys/x"}}`)
	r, known, err = web.Resolve(ask)
	if err != nil || r.URL != "https://h.example/?k=sk-aaaabbbbccccdddd1111" || r.Headers["Authorization"] != "Bearer tok-from-env" || r.OAuth.ClientSecret != "from-file" {
		t.Errorf("%v %#v", err, r)
	}
	if want := []string{"from-file", "sk-aaaabbbbccccdddd1111", "tok-from-env"}; !slices.Equal(known, want) {
		t.Errorf("known %q, want %q", known, want)
	}
	for in, want := range map[string]string{
		`{"command":"x","env":{"A":"env:NONE"},"args":["${NEITHER}"]}`: "args[0]: env:NEITHER is not set",
		`{"url":"https://${BREAK}/"}`:                                  "url: holds a space or another character",
		`{"url":"https://h","headers":{"A":"env:BREAK"}}`:              "headers.A: holds a line break or another character that no header has",
	} {
		if _, _, err := parse(t, in).Resolve(ask); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
