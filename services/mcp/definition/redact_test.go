package definition

import (
	"strings"
	"testing"
)

func TestLaunch(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"node","args":["x.js","--token","sk-live-abcdef0123456789","--api-key=sk-zzz"]}`:                                 "node x.js --token *** --api-key=***",
		`{"command":"node","args":["a b","it's","","x\u001b[0m"],"cwd":"/srv"}`:                                                      `node 'a b' "it's" "" "x\x1b[0m" (cwd=/srv)`,
		`{"command":"npx","args":["-y","mcp-remote","https://h/sse","--header","Authorization: Bearer hunter22"]}`:                   "npx -y mcp-remote https://h/sse --header 'Authorization: Bearer ***'",
		`{"command":"npx","args":["--header=X-Api-Key:hunter22"]}`:                                                                   "npx --header=X-Api-Key:***",
		`{"command":"docker","args":["run","-e","GH_TOKEN=hunter22","--env=A_PASSWORD=x=y","img"]}`:                                  "docker run -e GH_TOKEN=*** --env=A_PASSWORD=*** img",
		`{"command":"x","args":["postgresql://me:hunter22@db/x","https://h/?api_key=hunter22&x=1"]}`:                                 "x postgresql://***@db/x https://h/?api_key=***&x=1",
		`{"command":"x","args":["--no-token","y","--token-file","/k","--tokens","5","--key","/k.pem"]}`:                              "x --no-token y --token-file /k --tokens 5 --key /k.pem",
		`{"command":"x","args":["--token","${TOKEN}","--password=${A}:${B}","--secret","--verbose"]}`:                                "x --token ${TOKEN} --password=${A}:${B} --secret --verbose",
		`{"url":"https://user:hunter22@h:8443/a/b?token=hunter22&q=1#access_token=hunter22"}`:                                        "streamable-http https://***@h:8443/a/b?token=***&q=1#access_token=***",
		`{"url":"https://h/s/9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c/mcp","transport":"sse"}`:                                               "sse https://h/s/***/mcp",
		`{"command":"x","args":["--dsn","Server=db;User Id=sa;Password=hunter22;Timeout=5","host=db password=hunter22 sort_key=a"]}`: "x --dsn 'Server=db;User Id=sa;Password=***;Timeout=5' 'host=db password=*** sort_key=a'",
		`{"url":"https://mcp.example.com/mcp"}`:                                                                                      "streamable-http https://mcp.example.com/mcp",
		`{"url":"https://h?x=${API_KEY}"}`:                                                                                           "streamable-http https://h?x=${API_KEY}",
	} {
		d := parse(t, in)
		if got := d.Launch(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if d.String() != d.Launch() {
			t.Error("String is another text")
		}
	}
}

func TestRedacted(t *testing.T) {
	d := parse(t, `{"url":"https://h","auth":"oauth","oauth":{"clientId":"id","clientSecret":"hunter22"},"headers":{
		"Authorization":"Bearer hunter22","Cookie":"a=hunter22","X-Session":"hunter22","X-Auth":"hunter22","Proxy-Authorization":"hunter22","X-Mode":"read only",
		"X-A":"env:A","X-Secret":"file:b","X-Token":"Token ${C}","X-Both":"ghp_0123456789012345678901234567890123456789"}}`)
	r := d.Redacted()
	if strings.Contains(string(r.encoded()), "hunter22") || strings.Contains(string(r.encoded()), "ghp_") {
		t.Errorf("%s", r.encoded())
	}
	for name, want := range map[string]string{"Authorization": "Bearer ***", "X-Mode": "read only", "X-A": "env:A", "X-Secret": "file:b", "X-Token": "Token ${C}"} {
		if r.Headers[name] != want {
			t.Errorf("%s is %s", name, r.Headers[name])
		}
	}
	if d.Headers["Cookie"] != "a=hunter22" || d.OAuth.ClientSecret != "hunter22" {
		t.Error("the original has changed")
	}
	d = parse(t, `{"command":"x","env":{"API_TOKEN":"hunter22","githubToken":"hunter22","PGPASSWORD":"!!!","SECRET_KEY_BASE":"hunter22","PORT":"8080","AWS_REGION":"eu",
		"AWS_SECRET_ACCESS_KEY":"/hunter22","KEY_PATH":"/k","PUBLIC_KEY":"x","DSN":"amqp://u:hunter22@h"}}`)
	raw := string(d.Redacted().encoded())
	if strings.Contains(raw, "hunter22") || strings.Contains(raw, "!!!") {
		t.Error(raw)
	}
	for _, kept := range []string{`"PORT":"8080"`, `"AWS_REGION":"eu"`, `"KEY_PATH":"/k"`, `"PUBLIC_KEY":"x"`} {
		if !strings.Contains(raw, kept) {
			t.Errorf("%s is gone from %s", kept, raw)
		}
	}
}

// FuzzRedacted looks for panics, and for secrets in what is shown.
func FuzzRedacted(f *testing.F) {
	f.Add("--token", "Bearer x", "https://a:b@h/?k=v#t")
	f.Add("A=B=C", "${X}$$", "://@?=&")
	f.Fuzz(func(t *testing.T, arg, value, address string) {
		const canary = "canary7f3a"
		d := Definition{
			Command: arg, Args: []string{arg, value, "--password", canary, "--x=" + arg},
			Env: map[string]string{"A": value, "MY_SECRET": canary}, URL: address, Headers: map[string]string{"Authorization": "Basic " + canary, "B": value},
			OAuth: &OAuth{ClientSecret: canary},
		}
		d.Validate()
		d.Advice()
		d.References()
		for _, out := range []string{d.Launch(), d.Redacted().String(), string(d.Redacted().encoded()), d.Endpoint()} {
			if strings.Contains(out, canary) && !strings.Contains(arg+value+address, canary) {
				t.Errorf("the secret is in %q", out)
			}
		}
	})
}
