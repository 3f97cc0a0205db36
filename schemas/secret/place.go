package secret

import "strings"

const (
	maxName = 64  // bytes of a name that are looked at
	maxUser = 256 // bytes of an address before its host
)

// blocks finds private keys in PEM, and the seeds in credentials of NATS. One without an end reaches to the end of the text.
func blocks(text string, add func(int, int, string)) {
	const begin, end = "-----BEGIN ", "-----END "
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return
		}
		start := at + i
		at = start + len(begin)
		label, _, ok := strings.Cut(text[at:min(len(text), at+maxName)], "-----")
		if !ok || !strings.HasSuffix(label, "PRIVATE KEY") && !strings.HasSuffix(label, "PRIVATE KEY BLOCK") && !strings.HasSuffix(label, "NKEY SEED") {
			continue
		}
		stop := len(text)
		if j := strings.Index(text[at:], end); j >= 0 {
			stop = at + j + len(end)
			if k := strings.Index(text[stop:min(len(text), stop+maxName)], "-----"); k >= 0 {
				stop += k + len("-----")
			}
		}
		add(start, stop, "a private key")
		at = stop
	}
}

// passwords finds what stands between the user and the host of an address.
func passwords(text string, add func(int, int, string)) {
	const sign = "://"
	for at := 0; ; {
		i := strings.Index(text[at:], sign)
		if i < 0 {
			return
		}
		at += i + len(sign)
		authority := text[at:min(len(text), at+maxUser)]
		if stop := strings.IndexAny(authority, "/?#\"'`<>(){}[]|\\ \t\r\n"); stop >= 0 {
			authority = authority[:stop]
		}
		user := strings.LastIndexByte(authority, '@')
		if user < 0 {
			continue
		}
		colon := strings.IndexByte(authority[:user], ':')
		if colon < 0 || placeholder(authority[colon+1:user]) {
			continue
		}
		add(at+colon+1, at+user, "a password in an address")
	}
}

// bots finds tokens of Telegram's bots: a number, a colon and 35 characters.
func bots(text string, add func(int, int, string)) {
	const secretLen, digitsMin, digitsMax = 35, 8, 10
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], ':')
		if i < 0 {
			return
		}
		at += i
		start := at
		for start > 0 && at-start <= digitsMax && text[start-1] >= '0' && text[start-1] <= '9' {
			start--
		}
		if n := at - start; n < digitsMin || n > digitsMax || start > 0 && word[text[start-1]] && !strings.HasSuffix(text[:start], "bot") {
			continue
		}
		if end := run(text[:min(len(text), at+secretLen+2)], at+1, base); end-at-1 == secretLen {
			add(start, end, "a Telegram bot token")
		}
	}
}

// assigned finds the values of Authorization headers, and of names that say that they hold a secret.
func assigned(text string, add func(int, int, string)) {
	stop := 0 // where the value without quotes ends that was looked at last: the next ones may lie in it
	for at := 0; ; at++ {
		i := strings.IndexAny(text[min(at, len(text)):], "=:")
		if i < 0 {
			return
		}
		at += i
		name, before := nameBefore(text, at)
		switch {
		case name == "":
		case strings.EqualFold(name, "authorization"):
			start, end := credential(text, at+1)
			if end-start >= 8 && !placeholder(text[start:end]) {
				add(start, end, "an Authorization header")
			}
			at = max(at, end-1)
		case text[at] == '=' && secretive(name) && (before == 0 || !base[text[before-1]] && text[before-1] != '.' && text[before-1] != '$'):
			start, end, quoted := value(text, at+1)
			if !quoted {
				if stop < start {
					stop = start + unquoted(text[start:])
				}
				end = stop
			}
			if likely(name, text[start:end]) {
				add(start, end, "the value of "+name)
				at = max(at, end-1)
			}
		}
	}
}

// nameBefore is the name that ends before at, and where it begins. A quote and spaces may stand in between, as in JSON.
func nameBefore(text string, at int) (name string, start int) {
	end := at
	if text[at] == ':' {
		for end > 0 && at-end < 4 && (text[end-1] == ' ' || text[end-1] == '"' || text[end-1] == '\'') {
			end--
		}
	}
	start = end
	for start > 0 && end-start < maxName && word[text[start-1]] {
		start--
	}
	return text[start:end], start
}

// credential is what follows the scheme of an Authorization header ("Bearer", "Basic"), or the value where there is none.
func credential(text string, at int) (start, end int) {
	start = run(text, at, quotes)
	end = run(text, start, credentials)
	if next := run(text, end, blanks); next > end {
		if last := run(text, next, credentials); last-next >= 8 {
			return next, last
		}
	}
	return start, end
}

var (
	blanks      = class(" ")
	quotes      = class(` "'\`)
	credentials = class("0-9A-Za-z._~+/=-")
)

// secretive says whether a name of the environment says that it holds a secret.
func secretive(name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		return false
	}
	for _, end := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	rest, ok := strings.CutSuffix(name, "KEY")
	if !ok {
		return false
	}
	for _, harmless := range []string{"PUBLIC_", "PRIMARY_", "FOREIGN_", "SORT_", "PARTITION_", "CACHE_", "ROUTING_"} {
		if strings.HasSuffix(rest, harmless) {
			return false
		}
	}
	return rest == "" || strings.HasSuffix(rest, "_") || strings.HasSuffix(rest, "API") || strings.HasSuffix(rest, "SECRET")
}

// value is a value of a shell or of a .env file, up to its quote. One without quotes has no end yet.
func value(text string, at int) (start, end int, quoted bool) {
	if at < len(text) && (text[at] == '"' || text[at] == '\'') {
		if i := strings.IndexAny(text[at+1:], text[at:at+1]+"\n"); i >= 0 {
			return at + 1, at + 1 + i, true
		}
	}
	return at, at, false
}

// unquoted is how long a value without quotes is.
func unquoted(text string) int {
	if i := strings.IndexAny(text, " \t\r\n;&|\"'`<>(){}"); i >= 0 {
		return i
	}
	return len(text)
}

// likely says whether a value can be a secret. Passwords may be any word; tokens and keys are random.
func likely(name, v string) bool {
	if placeholder(v) {
		return false
	}
	if strings.HasSuffix(name, "PASSWORD") || strings.HasSuffix(name, "PASSWD") {
		return len(v) >= 6
	}
	return len(v) >= 8 && (strings.ContainsAny(v, "0123456789") && strings.Trim(v, "0123456789.") != "" || len(v) >= 20)
}

// placeholder says whether a text stands where a secret will be put.
func placeholder(v string) bool {
	const most = 200 // a longer text is none, or says so at its beginning
	v = v[:min(len(v), most)]
	if v == "" || strings.ContainsAny(v[:1], "$<{[(") || v[0] == '%' && (len(v) < 3 || hex(v[1]) < 0) {
		return true
	}
	if strings.Contains(v, "...") || strings.Contains(v, "…") || strings.Contains(v, Removed) {
		return true
	}
	low := strings.ToLower(v)
	for _, w := range []string{
		"env:", "file:", "your", "example", "changeme", "change-me", "placeholder", "redacted", "undefined", "process.env", "os.getenv",
	} {
		if strings.HasPrefix(low, w) {
			return true
		}
	}
	return strings.Trim(low, "x") == "" || strings.Trim(low, "*") == "" || low == "password" || low == "secret" || low == "pass"
}
