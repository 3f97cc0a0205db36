package secret_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/secret"
)

const (
	letters36 = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7j"
	token35   = "AAH-dk3jDk29fKdj3kD_kd93kDJ3kd93kDk"
	// Made up, and put together so that nobody's scanner takes this file for a leak.
	jwt = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
	pem = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH " + "PRIVATE KEY-----"
)

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"use s" + "k-" + letters36 + " please":                                 "s" + "k-" + letters36,
		"sk-ant-api03-" + letters36 + "-AA":                                    "sk-ant-api03-" + letters36 + "-AA",
		"sk-proj-" + letters36:                                                 "sk-proj-" + letters36,
		"sk-test-1234567890abcdef12":                                           "sk-test-1234567890abcdef12",
		"(ghp_" + letters36 + ")":                                              "ghp_" + letters36,
		"gho_" + letters36:                                                     "gho_" + letters36,
		"github_pat_11ABCDEFG0_" + letters36:                                   "github_pat_11ABCDEFG0_" + letters36,
		"xox" + "b-123456789012-abcDEF":                                        "xox" + "b-123456789012-abcDEF",
		"id AKIA" + "IOSFODNN7EXAMPLE.":                                        "AKIA" + "IOSFODNN7EXAMPLE",
		"ASIA" + "IOSFODNN7EXAMPLE":                                            "ASIA" + "IOSFODNN7EXAMPLE",
		"AIza" + token35:                                                       "AIza" + token35,
		"glpat-" + "abcDEF123456ghiJKL78":                                      "glpat-" + "abcDEF123456ghiJKL78",
		"//registry/:_authToken=npm_" + letters36:                              "npm_" + letters36,
		"x\n" + pem + "\ny":                                                    pem,
		"-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE":                           "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE",
		"-----BEGIN USER NKEY SEED-----\nSUAM\n------END USER NKEY SEED------": "-----BEGIN USER NKEY SEED-----\nSUAM\n------END USER NKEY SEED-----",
		"cookie " + jwt:                                                        jwt,
		"https://api.telegram.org/bot123456789:" + token35 + "/getMe":          "123456789:" + token35,
		"12345678:" + token35:                                                  "12345678:" + token35,
		"postgres://bob:hunter2@db/x":                                          "hunter2",
		"redis://:p%40ss@localhost":                                            "p%40ss",
		"redis://u:%40hunter2@localhost":                                       "%40hunter2",
		"https://a:b@c@host/":                                                  "b@c",
		"Authorization: Bearer abcdefgh12345":                                  "abcdefgh12345",
		"authorization: Basic dXNlcjpwYXNz":                                    "dXNlcjpwYXNz",
		`{"Authorization": "token 0123456789abc"}`:                             "0123456789abc",
		"curl -H 'Authorization:Bearer abcdefgh12345'":                         "abcdefgh12345",
		"OPENAI_API_KEY=a1b2c3d4e5":                                            "a1b2c3d4e5",
		"export DB_PASSWORD='correct horse'\n":                                 "correct horse",
		"A=1\nGITHUB_TOKEN=\"abcd-efgh-1234\"\nB=2":                            "abcd-efgh-1234",
		"X_SECRET=abcdefghijklmnopqrstuvwxyz":                                  "abcdefghijklmnopqrstuvwxyz",
		"docker run -e KEY=12ab34cd56ef img":                                   "12ab34cd56ef",
		"A_KEY=$B_KEY=real1234value":                                           "",
	} {
		var got []string
		for _, s := range secret.Find(text) {
			got = append(got, text[s.Start:s.End])
			if s.Kind == "" {
				t.Errorf("%q: no kind", text)
			}
		}
		if joined := strings.Join(got, " | "); joined != want {
			t.Errorf("%q: found %q, want %q", text, joined, want)
		}
	}
}

func TestNoFalseAlarms(t *testing.T) {
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xd8", 200)))
	for _, text := range []string{
		"", "e83c5163316f89bfbde7d9ab23ca2e25604af290", "123e4567-e89b-12d3-a456-426614174000",
		"data:image/png;base64," + image, image,
		"the task-management-software-of-the-year-2024", "risk-1234567890abcdef1234", "sk-learn is a library",
		"class sk-button-primary-large-rounded-v2", "ask-1", "sk-", "AKIA", "BAKIAIOSFODNN7EXAMPLEX", "AKIAIOSFODNN7EXAMPLEMORE",
		"-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
		"https://example.com/a:b@c", "https://user@host/x", "https://$USER:$PASS@host", "mailto:a@b.c", "http://[::1]:80/@x",
		"at 12:30:45.123456789", "127.0.0.1:8080", "1234567890:short", "12345678901:" + token35,
		"API_KEY=", "API_KEY=your-key-here", "API_KEY=$OTHER", "API_KEY=${OTHER_KEY}", "API_KEY=<key>", "API_KEY=xxxxxxxxxxxx",
		"API_KEY=env:OPENAI_API_KEY", "MONKEY=banana12345", "PRIMARY_KEY=user_id_12345", "PUBLIC_KEY=abcdefgh12345678",
		"token = newToken(12345678)", "MAX_TOKEN=4096000000", "PASSWORD=changeme", "if key==value12345678", "--api-key=abcd12345678",
		"Authorization: Bearer $TOKEN", "Authorization: Bearer ...", "the Authorization: header", "sorted by key: abcdefgh12345",
		"eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.short.x", "ghp_short", "npm_config_registry", "hf_hub_download",
		secret.Removed, "PASSWORD=" + secret.Removed, "x://a:" + secret.Removed + "@h",
	} {
		for _, s := range secret.Find(text) {
			t.Errorf("%.80q: %s in %q", text, s.Kind, text[s.Start:s.End])
		}
	}
}

func TestRedact(t *testing.T) {
	known := []string{"correct-horse/battery", "ab"}
	k := known[0]
	for text, want := range map[string]string{
		"nothing here, ab":                 "nothing here, ab", // a placeholder is no secret
		"a " + k + " b " + k:               "a * b *",
		"u=" + url.QueryEscape(k) + "&x=1": "u=*&x=1",
		"%63orrect%2dhorse%2Fbattery!":     "*!",
		"POST " + base64.StdEncoding.EncodeToString([]byte("user:"+k)) + " end": "POST * end",
		"see s" + "k-" + letters36 + ", https://u:pw12@h":                       "see *, https://u:*@h",
		"":                                    "",
		"100% sure, 5%":                       "100% sure, 5%",
		"x" + "A_KEY=a1b2c3d4e5":              "xA_KEY=a1b2c3d4e5",
		k + "A_KEY=a1b2c3d4e5 and " + pem:     "*A_KEY=* and *",
		"ghp_" + letters36 + k + " same word": "* same word",
	} {
		if got := secret.Compile(known).Redact(text); strings.ReplaceAll(got, secret.Removed, "*") != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestKnownInAnySpelling holds for secrets of any bytes, wherever they stand.
func TestKnownInAnySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := string(rapid.SliceOfN(rapid.Byte(), 8, 40).Draw(t, "secret"))
		before, after := strings.ReplaceAll(rapid.StringN(0, 9, 20).Draw(t, "before"), "%", "5"), rapid.StringN(0, 9, 20).Draw(t, "after")
		var mixed strings.Builder
		for i := range len(k) {
			if k[i] == '%' || rapid.Bool().Draw(t, "escape") {
				fmt.Fprintf(&mixed, "%%%02x", k[i])
			} else {
				mixed.WriteByte(k[i])
			}
		}
		for _, text := range []string{
			before + k + after, before + url.QueryEscape(k) + after, before + url.PathEscape(k) + after, before + mixed.String() + after,
			" " + base64.StdEncoding.EncodeToString([]byte(before+k+after)), " " + base64.RawURLEncoding.EncodeToString([]byte(before+k+after)),
		} {
			if strings.Contains(k, " ") && strings.Contains(text, "+") && !strings.Contains(text, k) && !strings.Contains(text, "%20") {
				continue // a form's "+" for a space is not percent-encoding
			}
			if !secret.Compile([]string{k}).Contains(text) {
				t.Fatalf("%q is not seen in %q", k, text)
			}
			if got := secret.Compile([]string{k}).Redact(text); secret.Compile([]string{k}).Contains(got) {
				t.Fatalf("%q is still in %q", k, got)
			}
		}
	})
}

// TestSpans checks order and bounds on texts that are made of pieces of secrets, and that what was redacted stays so.
func TestSpans(t *testing.T) {
	pieces := []string{
		"sk-", letters36, "ghp_", "://", "a:b@", "Authorization: ", "Bearer ", "A_KEY=", "PASSWORD=", "\"", "'", " ", "\n", "eyJ", ".", "%41", "é",
		"-----BEGIN X PRIVATE KEY-----", "-----END ", "12345678:", token35, "=", ":", "bot", "\x00", "[", "]", "xoxb-",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		last := 0
		for _, s := range secret.Find(text) {
			if s.Start < last || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %v after %d in %q", s, last, text)
			}
			last = s.End
		}
		once := secret.Compile(nil).Redact(text)
		if twice := secret.Compile(nil).Redact(once); twice != once {
			t.Fatalf("%q became %q", once, twice)
		}
	})
}

// TestLinear lets texts that are made to be slow grow, and expects the time to grow with them. The bound is wide: it tells
// seconds from hours, not one machine from another.
func TestLinear(t *testing.T) {
	const size = 1 << 18
	for _, piece := range []string{
		"sk-", "authorization=", "A_KEY=", "%A_KEY=", "A_KEY=\"", "://a:", "://a@", "12345678:", "eyJ.", "-----BEGIN ", "-----BEGIN X PRIVATE KEY-----",
		"Y29ycmVjdC1ob3JzZQ", "%41", "a", "=", "ghp_" + letters36, "Bearer ", "'A_KEY='",
	} {
		text := strings.Repeat(piece, size/len(piece))
		start := time.Now()
		secret.Compile([]string{"correct-horse"}).Redact(text)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%q repeated: %v", piece, d)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat("The quick brown fox: key=value, https://example.com/a?b=c jumps.\n", 1<<20/64)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		secret.Find(text)
	}
}

// What a program prints breaks long lines, escapes, or shows bytes as digits.
func TestKnownSecretsAsProgramsPrintThem(t *testing.T) {
	const known = `canary/SECRET+0123"456789\abcdef`
	wrap := func(text string, n int) string {
		var b strings.Builder
		for len(text) > n {
			b.WriteString(text[:n] + "\r\n  ")
			text = text[n:]
		}
		return b.String() + text
	}
	in64 := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 40) + known + strings.Repeat("y", 40)))
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(known)
	for name, text := range map[string]string{
		"broken lines": wrap(known, 10), "base64 -w 76": wrap(in64, 76), "xxd -p": wrap(fmt.Sprintf("%x", known), 60), "hex": fmt.Sprintf("%X", known),
		"json": quoted, "json of others": strings.ReplaceAll(quoted, "/", `\/`), "one a line": wrap(known, 1),
	} {
		got := secret.Compile([]string{known}).Redact("before " + text + " after")
		if !secret.Compile([]string{known}).Contains(text) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") ||
			!strings.Contains(got, secret.Removed) || strings.Contains(got, "SECRET") || strings.Contains(got, fmt.Sprintf("%x", known[12:20])) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := secret.Compile([]string{"password"[:7]}).Redact("a pass word"); got != "a pass word" {
		t.Errorf("short words are joined: %q", got)
	}
}
