package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	maxToken    = 64 << 10 // bytes of one token
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// Methods of a client's authentication at the token endpoint (RFC 7591, section 2).
const (
	inHeader = "client_secret_basic"
	inForm   = "client_secret_post"
	public   = "none"
)

// refusal is an error that an endpoint has answered (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
type refusal struct {
	what, host string
	status     int
	code       string
	detail     string
}

func (r *refusal) Error() string {
	s := fmt.Sprintf("the %s at %s refused: %s", r.what, r.host, r.code)
	if r.detail != "" {
		s += " (" + r.detail + ")"
	}
	return s
}

// is says whether err is a refusal with one of these codes.
func is(err error, codes ...string) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && slices.Contains(codes, r.code)
}

// refused makes an error of an answer that is no success. What is secret in the request is kept out of it, should the answer
// repeat it.
func refused(what, endpoint string, a answer, secrets ...string) error {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(a.body, &said) != nil || !isScope(said.Error) || said.Error == "" || len(said.Error) > 64 {
		return fmt.Errorf("the %s at %s answered with status %d (%s)", what, hostOf(endpoint), a.status, a.kind)
	}
	detail := said.Description
	for _, s := range secrets {
		if s != "" {
			detail = strings.ReplaceAll(detail, s, "…")
		}
	}
	detail = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' && r < 0xa1 || r > 0x2fff {
			return -1
		}
		return r
	}, detail)
	if runes := []rune(detail); len(runes) > 200 {
		detail = string(runes[:200]) + "…"
	}
	return &refusal{what, hostOf(endpoint), a.status, said.Error, detail}
}

// authenticate adds who we are to a request.
func (c client) authenticate(secret string, form url.Values, header http.Header) {
	switch {
	case c.Method == inHeader && secret != "":
		r := http.Request{Header: header}
		r.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(secret)) // RFC 6749, section 2.3.1
	case c.Method == inForm && secret != "":
		form.Set("client_secret", secret)
		fallthrough
	default:
		form.Set("client_id", c.ID)
	}
}

// secretOf is the client secret. A configured one may have changed since the login.
func secretOf(c client, d definition.Definition) string {
	if c.Kind == byOperator && d.OAuth != nil && d.OAuth.ClientID == c.ID {
		return d.OAuth.ClientSecret
	}
	return c.Secret
}

// askTokens sends a grant to the token endpoint. The tokens that it returns have no id yet.
func (k *Keeper) askTokens(ctx context.Context, d definition.Definition, at discovery, c client, grant url.Values) (tokens, error) {
	server, err := canonical(d)
	if err != nil {
		return tokens{}, err
	}
	web, err := k.httpFor(d, server)
	if err != nil {
		return tokens{}, err
	}
	secret := secretOf(c, d)
	secrets := []string{secret, grant.Get("code"), grant.Get("code_verifier"), grant.Get("refresh_token")}
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	grant.Set("resource", at.Resource)
	c.authenticate(secret, grant, header)
	a, err := post(ctx, web, "token endpoint", at.Token, header, []byte(grant.Encode()))
	if err != nil {
		return tokens{}, err
	}
	if a.status != http.StatusOK {
		return tokens{}, refused("token endpoint", at.Token, a, secrets...)
	}
	t, err := readTokens(a.body, k.Now())
	if err != nil {
		return tokens{}, fmt.Errorf("the token endpoint at %s answered with status 200 (%s), but %w", hostOf(at.Token), a.kind, err)
	}
	return t, nil
}

// readTokens reads a successful answer (RFC 6749, section 5.1).
func readTokens(body []byte, now time.Time) (tokens, error) {
	var said struct {
		Access    string      `json:"access_token"`
		Refresh   string      `json:"refresh_token"`
		Type      string      `json:"token_type"`
		ExpiresIn json.Number `json:"expires_in"` // some send a string
		Scope     string      `json:"scope"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return tokens{}, errors.New("that is not the JSON of a token") // what Unmarshal says may show some of it
	}
	switch {
	case said.Access == "":
		return tokens{}, errors.New("without a token")
	case !strings.EqualFold(said.Type, "bearer"):
		return tokens{}, errors.New("the token is no bearer token")
	case !isToken(said.Access) || said.Refresh != "" && !isToken(said.Refresh):
		return tokens{}, fmt.Errorf("the token has characters that none may have, or more than %d bytes", maxToken)
	}
	t := tokens{Access: said.Access, Refresh: said.Refresh, Scope: scopes(said.Scope), Got: now}
	if said.ExpiresIn != "" {
		seconds, err := strconv.ParseFloat(said.ExpiresIn.String(), 64)
		if err != nil || math.IsNaN(seconds) || seconds < 0 {
			return tokens{}, errors.New("expires_in is no number of seconds")
		}
		t.Expires = now.Add(time.Duration(min(seconds, maxLifetime.Seconds()) * float64(time.Second)))
	}
	return t, nil
}

func isToken(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return len(s) <= maxToken
}
