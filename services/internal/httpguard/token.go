package httpguard

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"net/http"
	"strings"
)

// MinToken is the least length of a token in bytes.
const MinToken = 16

// ErrToken is what a request without a valid token gets; there is nothing to add to it, whatever was wrong.
var ErrToken = errors.New("send a valid token: Authorization: Bearer TOKEN")

// ErrNoTokens is a set without tokens: nobody could be let in.
var ErrNoTokens = errors.New("there is no token")

// Source gives the tokens of this moment, secret by name. It is asked at each request, so that a token that was changed counts,
// and the old one does not, from the next request on. It is called by many at a time, and what it gave is not written to.
type Source func() (map[string]string, error)

// Fixed is a set that does not change.
func Fixed(tokens map[string]string) Source {
	tokens = maps.Clone(tokens)
	return func() (map[string]string, error) { return tokens, nil }
}

// WeakToken says whether a secret is unfit to be a token: too short, or with characters that do not fit into a header.
func WeakToken(secret string) bool {
	return len(secret) < MinToken || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Tokens knows callers by their bearer tokens. The zero value knows nobody.
type Tokens struct{ source Source }

// NewTokens takes the set from source.
func NewTokens(source Source) Tokens { return Tokens{source} }

// Caller is the name of the token that a request has. The error is ErrToken, or says why nobody is let in: that one is for the
// log, not for the client.
func (t Tokens) Caller(r *http.Request) (string, error) {
	if t.source == nil {
		return "", ErrNoTokens
	}
	set, err := t.source()
	if err != nil {
		return "", err
	}
	if len(set) == 0 {
		return "", ErrNoTokens
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", ErrToken
	}
	return match(set, token)
}

// match looks at every token, whichever fits, and compares sums of equal length, so that its time tells nothing. A token that
// two callers share names nobody: which of them wrote could not be said.
func match(set map[string]string, token string) (string, error) {
	digest := sha256.Sum256([]byte(token))
	name, found := "", 0
	for n, secret := range set {
		d := sha256.Sum256([]byte(secret))
		if subtle.ConstantTimeCompare(digest[:], d[:]) == 1 {
			name, found = n, found+1
		}
	}
	if found != 1 {
		return "", ErrToken
	}
	return name, nil
}
