package botapi_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]botapi.Config{
		"no token":               {},
		"no number":              {Token: half},
		"no secret":              {Token: "123456789:"},
		"short":                  {Token: "1:AAcanary-"},
		"bot 0":                  {Token: "0:" + half},
		"a number beyond all":    {Token: "99999999999999999999:" + half},
		"endless":                {Token: token + strings.Repeat("x", 300)},
		"a line break":           {Token: token + "\n"},
		"a carriage return":      {Token: token + "\r\n"},
		"a space":                {Token: " " + token},
		"a zero":                 {Token: "1234:AAcanary\x00" + half},
		"a slash":                {Token: token + "/../x"},
		"percent":                {Token: "123456789%3A" + half},
		"beyond ASCII":           {Token: token + "é"},
		"begins with bot":        {Token: "bot" + token},
		"no scheme":              {Token: token, APIRoot: "api.telegram.org"},
		"another scheme":         {Token: token, APIRoot: "ftp://api.telegram.org"},
		"no host":                {Token: token, APIRoot: "https:///x"},
		"a port only":            {Token: token, APIRoot: "http://:8081"},
		"not readable":           {Token: token, APIRoot: "https://[::" + half},
		"a password":             {Token: token, APIRoot: "https://me:" + half + "@api.telegram.org"},
		"a query":                {Token: token, APIRoot: "https://api.telegram.org/?" + half},
		"an empty query":         {Token: token, APIRoot: "https://api.telegram.org?"},
		"a fragment":             {Token: token, APIRoot: "https://api.telegram.org/#x"},
		"with the token":         {Token: token, APIRoot: "https://api.telegram.org/bot" + token},
		"with the token, slash":  {Token: token, APIRoot: "https://api.telegram.org/bot" + token + "/"},
		"with the token, quoted": {Token: token, APIRoot: "https://api.telegram.org/bot123456789%3A" + half},
		"with another token":     {Token: token, APIRoot: "https://api.telegram.org/bot42:" + strings.Repeat("x", 35)},
		"with bot":               {Token: token, APIRoot: "https://api.telegram.org/bot"},
		"a control character":    {Token: token, APIRoot: "https://api.telegram.org/\n" + half},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := botapi.New(c)
			if err == nil {
				t.Fatalf("taken: %d", got.BotID())
			}
			if tells(err.Error()) {
				t.Errorf("tells the token: %v", err)
			}
			t.Log(err)
		})
	}
}

func TestNewTakes(t *testing.T) {
	for _, c := range []botapi.Config{
		{Token: token},
		{Token: "1:AA_canary-"},
		{Token: token, APIRoot: "https://api.telegram.org/"},
		{Token: token, APIRoot: "http://127.0.0.1:8081"},
		{Token: token, APIRoot: "http://[::1]:8081/telegram/"},
		{Token: token, APIRoot: "https://example.com/botanic/garden"},
	} {
		got, err := botapi.New(c)
		if err != nil {
			t.Errorf("%s: %v", c.APIRoot, err)
			continue
		}
		if want, _, _ := strings.Cut(c.Token, ":"); want != "1" && got.BotID() != 123456789 {
			t.Errorf("bot %d, want %s", got.BotID(), want)
		}
	}
}

func TestRedact(t *testing.T) {
	c := client(t, "")
	for _, s := range []string{
		"https://api.telegram.org/bot" + token + "/getMe",
		"/file/bot" + token + "/photos/1.jpg",
		"Get \"https://x/bot123456789%3A" + half + "/getMe\": EOF",
		"bot123456789%3a" + half,
		"bot123456789%253A" + half,
		url.QueryEscape(token),
		percent(token),
		"only " + half + " of it",
		`{"url":"\/bot` + token + `\/x"}`,
	} {
		got := c.Redact(s)
		if tells(got) {
			t.Errorf("%s: %s", s, got)
		}
		if strings.HasPrefix(s, "https://api.telegram.org/bot") && !(strings.HasPrefix(got, "https://api.telegram.org/bot") && strings.HasSuffix(got, "/getMe")) {
			t.Errorf("takes out too much: %s", got)
		}
	}
	if s := "message to edit not found"; c.Redact(s) != s {
		t.Errorf("%q became %q", s, c.Redact(s))
	}
}

// TestRedactProperty: whatever stands around the token, and whichever of its bytes are percent-encoded, it goes.
func TestRedactProperty(t *testing.T) {
	c := client(t, "")
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i := range len(token) {
			if rapid.Bool().Draw(t, "encode") {
				b.WriteString(percent(token[i : i+1]))
			} else {
				b.WriteByte(token[i])
			}
		}
		s := rapid.String().Draw(t, "before") + "/bot" + b.String() + "/" + rapid.String().Draw(t, "after")
		got := c.Redact(s)
		plain, err := url.PathUnescape(got)
		if err != nil {
			plain = got
		}
		if strings.Contains(got, b.String()) || strings.Contains(plain, half) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func percent(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte('%')
		b.WriteByte(digits[s[i]>>4])
		b.WriteByte(digits[s[i]&15])
	}
	return b.String()
}
