package httpguard_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tokenA = "aaaaaaaaaaaaaaaaaaaa"
	tokenB = "bbbbbbbbbbbbbbbbbbbb"
)

func request(t *testing.T, token string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestCaller(t *testing.T) {
	tokens := httpguard.NewTokens(httpguard.Fixed(map[string]string{"a": tokenA, "b": tokenB}))
	for header, want := range map[string]string{
		"":                              "",
		"Bearer " + tokenA:              "a",
		"bearer " + tokenB:              "b",
		"Bearer  " + tokenB:             "b",
		"Basic " + tokenA:               "",
		"Bearer":                        "",
		"Bearer ":                       "",
		tokenA:                          "",
		"Bearer " + tokenA[:19]:         "",
		"Bearer " + tokenA + "a":        "",
		"Bearer " + tokenA + " " + "b":  "",
		"Bearer " + tokenA + "," + "b,": "",
	} {
		r := request(t, "")
		r.Header.Set("Authorization", header)
		name, err := tokens.Caller(r)
		if name != want || want == "" && !errors.Is(err, httpguard.ErrToken) || want != "" && err != nil {
			t.Errorf("%q is %q, %v", header, name, err)
		}
	}
}

func TestNobodyIsLetIn(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, tc := range map[string]struct {
		source httpguard.Source
		want   error
	}{
		"no source":      {nil, httpguard.ErrNoTokens},
		"an empty set":   {httpguard.Fixed(nil), httpguard.ErrNoTokens},
		"a broken one":   {func() (map[string]string, error) { return map[string]string{"a": tokenA}, broken }, broken},
		"an empty token": {httpguard.Fixed(map[string]string{"a": ""}), httpguard.ErrToken},
		"one of two":     {httpguard.Fixed(map[string]string{"a": tokenA, "b": tokenA}), httpguard.ErrToken},
	} {
		for _, token := range []string{tokenA, ""} {
			if who, err := httpguard.NewTokens(tc.source).Caller(request(t, token)); who != "" || !errors.Is(err, tc.want) {
				t.Errorf("%s: %q is %q, %v; want %v", name, token, who, err, tc.want)
			}
		}
	}
	var zero httpguard.Tokens
	if who, err := zero.Caller(request(t, tokenA)); who != "" || err == nil {
		t.Errorf("the zero value knows %q, %v", who, err)
	}
}

func TestFixedIsACopy(t *testing.T) {
	set := map[string]string{"a": tokenA}
	tokens := httpguard.NewTokens(httpguard.Fixed(set))
	set["b"] = tokenB
	if who, err := tokens.Caller(request(t, tokenB)); err == nil {
		t.Errorf("%s came in by a token that was added from outside", who)
	}
}

func TestWeakToken(t *testing.T) {
	for secret, want := range map[string]bool{
		"": true, "short": true, strings.Repeat("x", httpguard.MinToken): false, tokenA + " ": true, tokenA + "\n": true, tokenA + "é": true,
	} {
		if got := httpguard.WeakToken(secret); got != want {
			t.Errorf("%q: %v", secret, got)
		}
	}
}
