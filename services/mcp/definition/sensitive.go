package definition

import (
	"slices"
	"strings"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/secret"
)

// sensitive says whether the value of a variable, header, option or query parameter of this name is a secret.
func sensitive(name, value string) bool {
	words := wordsOf(name)
	if len(words) == 0 || words[0] == "no" {
		return false
	}
	last := words[len(words)-1]
	if slices.Contains(harmless, last) {
		return false
	}
	if slices.ContainsFunc(words, strong) {
		return true
	}
	// A key and credentials may also be in a file that is named here.
	if pathlike(value) {
		return false
	}
	if last == "credential" || last == "credentials" {
		return true
	}
	return last == "key" && (len(words) == 1 || !slices.Contains(publicKeys, words[len(words)-2]))
}

// harmless end names of what is about a secret and is none.
var harmless = []string{
	"file", "path", "dir", "directory", "folder", "url", "uri", "endpoint", "host", "port", "id", "name", "type", "mode", "env", "var",
	"header", "field", "prefix", "provider", "store", "policy", "expiry", "ttl", "timeout", "age", "length", "size", "count", "limit",
	"budget", "usage", "enabled", "disabled", "required", "version", "algorithm", "scope", "scopes", "format", "manager", "cmd", "command",
}

//nolint:gochecknoglobals // a constant
var publicKeys = []string{
	"public", "pub", "primary", "foreign", "sort", "partition", "cache", "routing", "registry", "object", "row", "project", "issue", "idempotency",
}

func strong(word string) bool {
	switch word {
	case "pwd", "pass", "passphrase", "passcode", "authorization", "cookie", "cookies", "bearer", "jwt", "pat", "sig", "signature",
		"accesskey", "secretkey", "privatekey":
		return true
	}
	for _, end := range []string{"token", "secret", "secrets", "password", "passwd", "apikey"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// sensitiveHeader is sensitive for the names of headers, which say less often what they hold.
func sensitiveHeader(name, value string) bool {
	if sensitive(name, value) {
		return true
	}
	words := wordsOf(name)
	return len(words) > 0 && slices.Contains([]string{"auth", "session", "credential"}, words[len(words)-1])
}

// wordsOf takes a name apart, as API_KEY, api-key, apiKey or X-API-Key, in lower case.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// pathlike says whether a value is written as the name of a file.
func pathlike(value string) bool {
	for _, begin := range []string{"/", "./", "../", "~/", `.\`} {
		if strings.HasPrefix(value, begin) {
			return true
		}
	}
	return len(value) > 2 && value[1] == ':' && value[2] == '\\'
}

// random says whether a text without a name looks drawn: long, of letters and digits in turn, without any word or path in it.
func random(text string) bool {
	if len(text) < 24 {
		return false
	}
	digits, letters, changes, last := 0, 0, 0, 0
	for _, r := range text {
		class := 0
		switch {
		case r >= '0' && r <= '9':
			digits, class = digits+1, 1
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			letters, class = letters+1, 2
		case r == '-' || r == '_' || r == '+' || r == '=':
		default:
			return false
		}
		if class != last {
			changes++
		}
		last = class
	}
	return digits >= 4 && letters >= 4 && changes*4 >= len(text)
}

// masked is a text without what looks like a secret in it.
func masked(text string) string {
	found := secret.Find(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.Start])
		b.WriteString(hidden)
		at = s.End
	}
	return b.String() + text[at:]
}
