package secret

import "strings"

// prefix is one form that an issuer gives its secrets: a beginning, and what may follow.
type prefix struct {
	begin string
	kind  string
	body  *[256]bool
	least int // characters of the body
	most  int // 0: any number; else a longer one is something else
	mixed bool
}

var (
	alnum = class("0-9A-Za-z")
	upper = class("0-9A-Z")
	base  = class("0-9A-Za-z_-") // base64url
	word  = class("0-9A-Za-z_")
)

var prefixes = []prefix{
	{begin: "sk-", kind: "an API key", body: base, least: 20, mixed: true}, // also sk-ant-, sk-proj-, sk-or-
	{begin: "sk_live_", kind: "a Stripe key", body: alnum, least: 16},
	{begin: "rk_live_", kind: "a Stripe key", body: alnum, least: 16},
	{begin: "ghp_", kind: "a GitHub token", body: alnum, least: 30},
	{begin: "gho_", kind: "a GitHub token", body: alnum, least: 30},
	{begin: "ghu_", kind: "a GitHub token", body: alnum, least: 30},
	{begin: "ghs_", kind: "a GitHub token", body: alnum, least: 30},
	{begin: "ghr_", kind: "a GitHub token", body: alnum, least: 30},
	{begin: "github_pat_", kind: "a GitHub token", body: word, least: 40},
	{begin: "glpat-", kind: "a GitLab token", body: base, least: 20},
	{begin: "npm_", kind: "an npm token", body: alnum, least: 36},
	{begin: "hf_", kind: "a Hugging Face token", body: alnum, least: 30},
	{begin: "xoxa-", kind: "a Slack token", body: base, least: 10, mixed: true},
	{begin: "xoxb-", kind: "a Slack token", body: base, least: 10, mixed: true},
	{begin: "xoxp-", kind: "a Slack token", body: base, least: 10, mixed: true},
	{begin: "xoxr-", kind: "a Slack token", body: base, least: 10, mixed: true},
	{begin: "AKIA", kind: "an AWS key", body: upper, least: 16, most: 16},
	{begin: "ASIA", kind: "an AWS key", body: upper, least: 16, most: 16},
	{begin: "AIza", kind: "a Google API key", body: base, least: 35, most: 35},
	{begin: "AGE-SECRET-KEY-1", kind: "an age key", body: upper, least: 50},
}

// byPrefix adds each place where p stands and is not the middle of a longer word.
func byPrefix(text string, p prefix, add func(int, int, string)) {
	refused := 0 // end of a run that is none: what begins within it is none either, see mixed
	for at := 0; ; {
		i := strings.Index(text[at:], p.begin)
		if i < 0 {
			return
		}
		start := at + i
		body := start + len(p.begin)
		at = body
		if start > 0 && alnum[text[start-1]] || body < refused {
			continue
		}
		limit := len(text)
		if p.most > 0 {
			limit = min(limit, body+p.most+1)
		}
		end := run(text[:limit], body, p.body)
		switch n := end - body; {
		case n < p.least:
		case p.most > 0 && n != p.most:
		case p.mixed && !mixed(text[body:end]):
			refused = end
		default:
			add(start, end, p.kind)
			at = end
		}
	}
}

// tokens finds JSON Web Tokens: three parts with dots between them, of which the first begins as {" does in base64.
func tokens(text string, add func(int, int, string)) {
	const begin, least = "eyJ", 10
	head, last := 0, 0 // ends of the first part that was looked at, and of the token; 0: it is none
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return
		}
		start := at + i
		at = start + len(begin)
		if start > 0 && alnum[text[start-1]] {
			continue
		}
		if start >= head {
			head = run(text, start, base)
			last = part(text, part(text, head, least), least)
		}
		if head-start >= least && last > 0 {
			add(start, last, "a JSON Web Token")
			at = last
		}
	}
}

// part is the end of a part of a token that begins with the dot at from; 0 when there is none.
func part(text string, from, least int) int {
	if from == 0 || from >= len(text) || text[from] != '.' {
		return 0
	}
	end := run(text, from+1, base)
	if end-from-1 < least {
		return 0
	}
	return end
}

// mixed tells a random text from words with hyphens between them: digits, and either a long part or both cases. If it holds
// for the end of a text, it holds for the text.
func mixed(s string) bool {
	digits, uppers, lowers, longest, part := 0, 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'A' && c <= 'Z':
			uppers++
		case c >= 'a' && c <= 'z':
			lowers++
		default:
			part = -1
		}
		part++
		longest = max(longest, part)
	}
	return digits >= 2 && (longest >= 16 || uppers >= 2 && lowers >= 2)
}

// run is the end of the characters of a class that begin at from.
func run(text string, from int, of *[256]bool) int {
	for from < len(text) && of[text[from]] {
		from++
	}
	return from
}

// class is a set of bytes, written as in a regular expression without the brackets.
func class(spec string) *[256]bool {
	var set [256]bool
	for i := 0; i < len(spec); i++ {
		first, last := spec[i], spec[i]
		if i+2 < len(spec) && spec[i+1] == '-' {
			last = spec[i+2]
			i += 2
		}
		for c := int(first); c <= int(last); c++ {
			set[c] = true
		}
	}
	return &set
}
