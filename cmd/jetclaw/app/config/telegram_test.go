package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestBotSettings(t *testing.T) {
	c := parse(t, everything)
	p := c.Channels.Telegram["poet_bot"]
	if p.Agent != "poet" || p.Access != "allowlist" || p.Streaming != "off" || p.APIRoot != "https://api.telegram.org" ||
		p.Webhook.URL != "https://example.org/poet" || p.Webhook.Listen != "127.0.0.1:8443" || p.Webhook.Secret.String() != "env:POET_HOOK" {
		t.Errorf("%+v", p)
	}
	want := map[int64]Group{-1001234567890: {Users: []UserID{12345}}, -100777: {RequireMention: true}}
	if got := p.GroupsByID(); !reflect.DeepEqual(got, want) || !slices.Equal(got[-1001234567890].UserIDs(), []int64{12345}) {
		t.Errorf("%+v", got)
	}
	if got := c.LetIn(p); !slices.Equal(got, []int64{12345, 67890}) {
		t.Errorf("%v", got)
	}
	if got := c.LetIn(c.Channels.Telegram["mybot"]); !slices.Equal(got, []int64{12345}) { // the owner
		t.Errorf("%v", got)
	}
	if want := (Telegram{Token: Secret{ref: "env:T"}, Agent: "main", Access: "pairing", Streaming: "edit", APIRoot: "https://api.telegram.org"}); !reflect.DeepEqual(
		parse(t, "channels: {telegram: {b: {token: env:T}}}\n").Channels.Telegram["b"], want) {
		t.Errorf("defaults")
	}
	n := 0
	for _, s := range c.Secrets() {
		if s.String() == "env:POET_HOOK" || s.String() == "file:keys/poet" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("secrets %v", c.Secrets())
	}
	out, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"require_mention: false\n", "require_mention: true\n", `"-100777"`, "agent: poet\n", "allow:", "- 67890\n", "listen: 127.0.0.1:8443\n", "secret: env:POET_HOOK\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not shown in\n%s", want, out)
		}
	}
}

func TestBotProblems(t *testing.T) {
	const bot = "channels: {telegram: {b: {token: env:T, " // 40 characters
	for name, c := range map[string]struct{ in, want string }{
		"name":                {"channels: {telegram: {my bot: {token: env:T}}}\n", "c.yaml:1:31: channels.telegram.my bot: the name of a bot is 1 to 64 of A-Z a-z 0-9 _ -; it is part of the ids of its sessions"},
		"token in the file":   {"channels: {telegram: {b: {token: \"123:hunter22\"}}}\n", "c.yaml:1:34: channels.telegram.b.token: a secret is never written into the file itself: write env:NAME or file:PATH"},
		"token twice":         {"channels: {telegram: {a: {token: env:T}, b: {token: env:T}}}\n", "c.yaml:1:53: channels.telegram.b.token: this is the token of a, too; two that ask for the updates of one bot take them from each other"},
		"agent":               {bot + "agent: mian}}}\n", `c.yaml:1:48: channels.telegram.b.agent: there is no such agent; did you mean "main"?`},
		"access":              {bot + "access: pairng}}}\n", `c.yaml:1:49: channels.telegram.b.access: must be one of pairing, allowlist, open; did you mean "pairing"?`},
		"streaming":           {bot + "streaming: draft}}}\n", "c.yaml:1:52: channels.telegram.b.streaming: must be one of edit, off"},
		"streaming as a flag": {bot + "streaming: true}}}\n", "c.yaml:1:52: channels.telegram.b.streaming: this is true or false, but text is expected; put it in quotes"},
		"allow by name":       {bot + "allow: [\"@ada\"]}}}\n", "c.yaml:1:49: channels.telegram.b.allow[0]: must be the number of a person, as in 12345: names can be taken by others"},
		"allow nobody":        {bot + "allow: [1, 0]}}}\n", "c.yaml:1:52: channels.telegram.b.allow[1]: must be the number of a person, as in 12345"},
		"allow a group":       {bot + "allow: [-100777]}}}\n", "c.yaml:1:49: channels.telegram.b.allow[0]: a negative number is a group: it belongs under groups"},
		"group as a number":   {bot + "groups: {-100777: {}}}}}\n", "c.yaml:1:50: channels.telegram.b.groups: this key is not text; put it in quotes"},
		"group by name":       {bot + "groups: {\"@club\": {}}}}}\n", `c.yaml:1:59: channels.telegram.b.groups.@club: must be the number of a group, which is negative; as in "-1001234567890"`},
		"group of a person":   {bot + "groups: {\"12345\": {}}}}}\n", `c.yaml:1:59: channels.telegram.b.groups.12345: must be the number of a group, which is negative; as in "-1001234567890"`},
		"group with zeros":    {bot + "groups: {\"-0777\": {}}}}}\n", `c.yaml:1:59: channels.telegram.b.groups.-0777: must be the number of a group, which is negative; as in "-1001234567890"`},
		"group's key":         {bot + "groups: {\"-1\": {mention: true}}}}}\n", "c.yaml:1:57: channels.telegram.b.groups.-1.mention: unknown key; known here: require_mention, users"},
		"group of nobody":     {bot + "groups: {\"-1\": {users: []}}}}}\n", "c.yaml:1:64: channels.telegram.b.groups.-1.users: is empty, and so says nothing; leave it out to hear every member, or remove the group to hear none"},
		"group's user":        {bot + "groups: {\"-1\": {users: [ada]}}}}}\n", "c.yaml:1:65: channels.telegram.b.groups.-1.users[0]: must be the number of a person, as in 12345: names can be taken by others"},
		"root is no URL":      {bot + "api_root: api.telegram.org}}}\n", "c.yaml:1:51: channels.telegram.b.api_root: must be a URL as https://host/path"},
		"root with a bot":     {bot + "api_root: \"https://h/bot123:hunter22\"}}}\n", `c.yaml:1:51: channels.telegram.b.api_root: ends with /bot…, which is added to it; as in "https://api.telegram.org"; the token belongs into token`},
		"root with /bot/":     {bot + "api_root: \"https://h/x/bot/\"}}}\n", `c.yaml:1:51: channels.telegram.b.api_root: ends with /bot…, which is added to it; as in "https://api.telegram.org"; the token belongs into token`},
		"root with a query":   {bot + "api_root: \"https://h/?token=hunter22\"}}}\n", `c.yaml:1:51: channels.telegram.b.api_root: holds a query or a fragment; as in "https://api.telegram.org"`},
		"root with a user":    {bot + "api_root: \"https://u:hunter22@h\"}}}\n", "c.yaml:1:51: channels.telegram.b.api_root: holds a password; a secret is written as env:NAME or file:PATH in its own setting"},
		"half a webhook":      {bot + "webhook: {url: \"https://h/x\"}}}}\n", "c.yaml:1:50: channels.telegram.b.webhook: url, listen and secret belong together; give all of them, or none to have jetclaw ask for updates itself"},
		"webhook over http":   {bot + "webhook: {url: \"http://h/x\", listen: \"127.0.0.1:1\", secret: env:S}}}}\n", "c.yaml:1:56: channels.telegram.b.webhook.url: must be https: Telegram calls nothing else"},
		"webhook's query":     {bot + "webhook: {url: \"https://h/x?y\", listen: \"127.0.0.1:1\", secret: env:S}}}}\n", "c.yaml:1:56: channels.telegram.b.webhook.url: holds a query or a fragment; calls are known by the secret"},
		"webhook's listener":  {bot + "webhook: {url: \"https://h/x\", listen: \"off\", secret: env:S}}}}\n", `c.yaml:1:79: channels.telegram.b.webhook.listen: must be host:port; as in "127.0.0.1:8443"`},
		"webhook's port":      {bot + "webhook: {url: \"https://h/x\", listen: \"127.0.0.1:0\", secret: env:S}}}}\n", "c.yaml:1:79: channels.telegram.b.webhook.listen: the port must be a number from 1 to 65535"},
		"webhook at the API":  {bot + "webhook: {url: \"https://h/x\", listen: \"127.0.0.1:7450\", secret: env:S}}}}\n", "c.yaml:1:79: channels.telegram.b.webhook.listen: channels.http.listen listens there already; choose another port"},
		"webhook's secret":    {bot + "webhook: {url: \"https://h/x\", listen: \"127.0.0.1:1\", secret: hunter22}}}}\n", "c.yaml:1:102: channels.telegram.b.webhook.secret: a secret is never written into the file itself: write env:NAME or file:PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Parse("c.yaml", []byte(c.in))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if contains(err, "hunter22") {
				t.Error("a secret is in the error")
			}
		})
	}
}

func TestBotWarnings(t *testing.T) {
	const bot = "channels: {telegram: {b: {token: env:T, "
	for in, want := range map[string]string{
		bot + "access: open}}}\n":                                                      "1:49: channels.telegram.b.access: everybody who finds the bot",
		bot + "access: allowlist}}}\n":                                                 "1:49: channels.telegram.b.access: nobody is let in",
		bot + "api_root: \"http://api.example.org\"}}}\n":                              "unencrypted",
		bot + "groups: {\"-1\": {}}}}}\ntools: {exec: {enabled: true}}\n":              "every member of the group",
		bot + "webhook: {url: \"https://h/x\", listen: \":8443\", secret: env:S}}}}\n": "let a proxy with TLS",

		bot + "access: allowlist, allow: [1]}}}\n":                                                    "",
		bot + "access: allowlist}}}\nowners: [\"telegram:1\"]\n":                                      "",
		bot + "access: allowlist, groups: {\"-1\": {users: [1]}}}}}\n":                                "",
		bot + "api_root: \"http://127.0.0.1:8081/x/\"}}}\n":                                           "",
		bot + "groups: {\"-1\": {users: [1]}}}}}\ntools: {exec: {enabled: true}}\n":                   "",
		bot + "webhook: {url: \"http://127.0.0.1:9/x\", listen: \"127.0.0.1:8\", secret: env:S}}}}\n": "",
		bot + "access: pairing}}}\n":                                                                  "",
	} {
		_, warnings, err := Parse("c.yaml", []byte(in))
		if err != nil || want == "" && len(warnings) > 0 || want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), want)) {
			t.Errorf("%s: %v %v, want %q", in, err, warnings, want)
		}
	}
}

func TestTheBotOfTheEnvironment(t *testing.T) {
	env := func(value string) func(string) (string, bool) {
		return func(name string) (string, bool) { return value, name == EnvBotToken && value != "" }
	}
	none := parse(t, "channels: {telegram: }\n")
	for _, value := range []string{"", " \n"} {
		if got := none.Bots(env(value)); len(got) != 0 {
			t.Errorf("%q: %v", value, got)
		}
	}
	bots := none.Bots(env("123:abc"))
	bot := bots["default"]
	if want := DefaultBot(); len(bots) != 1 || bot.Token.String() != "env:TELEGRAM_BOT_TOKEN" || bot.Agent != want.Agent || bot.Access != "pairing" {
		t.Errorf("%+v", bots)
	}
	if len(none.Channels.Telegram) != 0 {
		t.Error("the configuration was changed")
	}
	some := parse(t, "channels: {telegram: {b: {token: file:x}}}\n")
	if got := some.Bots(env("123:abc")); len(got) != 1 || got["b"].Token.String() != "file:x" {
		t.Errorf("%+v", got)
	}
}

func TestSecretsOfABot(t *testing.T) {
	c := parse(t, "channels: {telegram: {b: {token: env:T, webhook: {url: \"https://h/x\", listen: \"127.0.0.1:1\", secret: env:S}}}}\n")
	for _, tc := range []struct{ token, secret, want string }{
		{"123456:AA-bb_cc-dd", "s-e_cret9", ""},
		{"1:sampleToken", strings.Repeat("x", 256), ""},
		{"hello", "s", "c.yaml:1:34: channels.telegram.b.token: env:T: this is no token of a bot, which has the form 123456789:AAH…"},
		{"123:hunter22/../x", "s", "c.yaml:1:34: channels.telegram.b.token: env:T: this is no token of a bot"},
		{"123:abcdefghij", "hunter22.", "c.yaml:1:102: channels.telegram.b.webhook.secret: env:S: the secret of a webhook has 1 to 256 letters, digits, _ and -"},
		{"123:abcdefghij", strings.Repeat("x", 257), "the secret of a webhook has"},
		{"", "x", "the environment variable is not set"},
		{"123:abcdefghij", "", "channels.telegram.b.webhook.secret: env:S: the environment variable is not set"},
	} {
		var known []string
		r := Resolver{
			Known:  func(v ...string) { known = append(known, v...) },
			Lookup: func(name string) (string, bool) { return map[string]string{"T": tc.token, "S": tc.secret}[name], true },
		}
		bot := c.Channels.Telegram["b"]
		_, err := c.ResolveBot(r, "c.yaml", "b", &bot)
		var se *SecretError
		switch {
		case tc.want == "":
			if err != nil || bot.Token.Value() != tc.token || bot.Webhook.Secret.Value() != tc.secret || len(known) != 2 {
				t.Errorf("%+v: %v", tc, err)
			}
		case !errors.As(err, &se) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter22"):
			t.Errorf("%+v: %v", tc, err)
		}
	}
	var none Telegram
	if _, err := c.ResolveBot(Resolver{}, "c.yaml", "x", &none); err != nil {
		t.Errorf("nothing to resolve: %v", err)
	}
}
