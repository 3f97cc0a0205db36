package oauth

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTokenAnswers: whatever the token endpoint answers, the login fails with words that show no secret, and can be finished later.
func TestTokenAnswers(t *testing.T) {
	say := func(status int, kind, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			w.Write([]byte(body))
			return true
		}
	}
	for name, c := range map[string]struct {
		token func(http.ResponseWriter, *http.Request) bool
		want  string
	}{
		"HTML":      {say(200, "text/html", "<html>s3cr3t-x"), "status 200 (text/html), but that is not the JSON of a token"},
		"an error":  {say(502, "text/html", "<html>s3cr3t-x"), "status 502 (text/html)"},
		"too much":  {say(200, "application/json", `{"access_token":"`+strings.Repeat("s3cr3t-", 1<<18)+`"}`), "more than 1048576 bytes"},
		"long":      {say(200, "application/json", `{"token_type":"bearer","access_token":"`+strings.Repeat("s3cr3t-", 1<<14)+`"}`), "more than 65536"},
		"no token":  {say(200, "application/json", `{"token_type":"bearer"}`), "without a token"},
		"a line":    {say(200, "application/json", `{"token_type":"bearer","access_token":"s3cr3t-\r\nX: y"}`), "characters that none may have"},
		"mac":       {say(200, "application/json", `{"token_type":"mac","access_token":"s3cr3t-x"}`), "no bearer token"},
		"a time":    {say(200, "application/json", `{"token_type":"bearer","access_token":"s3cr3t-x","expires_in":-1}`), "expires_in"},
		"an object": {say(200, "application/json", `{"token_type":"bearer","access_token":{"s3cr3t-x":1}}`), "not the JSON of a token"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/token", http.StatusTemporaryRedirect)
			return true
		}, "it redirects (status 307)"},
		"an echo": {func(w http.ResponseWriter, r *http.Request) bool {
			answerJSON(w, http.StatusBadRequest, map[string]string{
				"error": "invalid_grant", "error_description": "no \x1b[31m" + r.PostFormValue("code_verifier") + " for " + r.PostFormValue("code"),
			})
			return true
		}, "refused: invalid_grant (no [31m… for …)"},
		"nothing": {func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, "ask the token endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			back := r.as.approve(r.begin().URL)
			k := r.Keeper
			if name == "nothing" {
				k = r.keeper(50 * time.Millisecond)
			}
			r.as.tokenBy(c.token)
			err := k.Finish(t.Context(), "docs", r.d, back.Get("code"), back.Get("state"), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			secret := append(r.as.secretsSeen(), "s3cr3t-", r.record().Pending.Verifier)
			if slices.ContainsFunc(secret, func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Errorf("the error shows a secret: %v", err)
			}
			r.as.tokenBy(nil)
			if err := r.Finish(t.Context(), "docs", r.d, back.Get("code"), back.Get("state"), ""); err != nil {
				t.Errorf("later: %v", err)
			}
		})
	}
}
