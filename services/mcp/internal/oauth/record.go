package oauth

import "time"

// record is what is stored of a server. The zero value is that nothing is. What its pointers show is never changed, only replaced:
// the keeper hands out the same record to many.
type record struct {
	Resource  string     `json:"resource"` // the canonical URL of the server that all of this belongs to
	Discovery *discovery `json:"discovery,omitempty"`
	Client    *client    `json:"client,omitempty"`
	Tokens    *tokens    `json:"tokens,omitempty"`
	Pending   *pending   `json:"pending,omitempty"`
	// StepUp: the server asked for more scope, Wanted, than the tokens have.
	StepUp bool     `json:"stepUp,omitempty"`
	Wanted []string `json:"wanted,omitempty"`
	Lease  *lease   `json:"lease,omitempty"`

	unreadable bool // something is stored that this process cannot decrypt
}

// discovery is what is known of an authorization server.
type discovery struct {
	Issuer        string   `json:"issuer"`
	Resource      string   `json:"resource"` // as the server calls itself there: the parameter resource
	Authorization string   `json:"authorization"`
	Token         string   `json:"token"`
	Registration  string   `json:"registration,omitempty"`
	Revocation    string   `json:"revocation,omitempty"`
	IssParameter  bool     `json:"issParameter,omitempty"` // it adds iss to its answers (RFC 9207)
	AuthMethods   []string `json:"authMethods,omitempty"`
}

// client is who we are for an issuer.
type client struct {
	Kind      string    `json:"kind"`
	Issuer    string    `json:"issuer"`
	ID        string    `json:"id"`
	Secret    string    `json:"secret,omitempty"` // of a registered one; that of a configured one stays in the configuration
	Method    string    `json:"method"`           // of its authentication at the token endpoint
	Redirects []string  `json:"redirects,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // of the secret
}

// Kinds of a client, in the order in which they are tried.
const (
	byDocument   = "document"   // a client id metadata document
	byOperator   = "configured" // registered beforehand
	byRegisterer = "registered" // dynamically (RFC 7591)
)

// tokens are one answer of a token endpoint.
type tokens struct {
	ID      string    `json:"id"` // changes with each answer, also when the tokens do not
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Got     time.Time `json:"got"`
	Expires time.Time `json:"expires,omitzero"` // of Access; zero: not said
	Scope   []string  `json:"scope,omitempty"`
	Renewed bool      `json:"renewed,omitempty"` // a refresh brought them, not a login
	// Dead: the access token is used no more and cannot be renewed.
	Dead bool `json:"dead,omitempty"`
}

// pending is a login that has begun. It brings its own discovery and client: those of the record belong to the tokens.
type pending struct {
	State     string    `json:"state"`
	Verifier  string    `json:"verifier"`
	Redirect  string    `json:"redirect"`
	URL       string    `json:"url"`
	Scope     []string  `json:"scope,omitempty"`
	Expires   time.Time `json:"expires"`
	Discovery discovery `json:"discovery"`
	Client    client    `json:"client"`
}

// lease is the right to send the refresh token.
type lease struct {
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// heldAt says whether others have to wait. One that ends too late to be true was written by a clock that is wrong.
func (l *lease) heldAt(now time.Time) bool {
	return l != nil && now.Before(l.Until) && l.Until.Before(now.Add(2*leaseFor))
}

// tokensFor returns the tokens, or the reason why there are none for this URL.
func (r record) tokensFor(resource string, now time.Time) (*tokens, string) {
	switch {
	case r.unreadable:
		return nil, "what is stored cannot be decrypted with the key of this process"
	case r.Resource != "" && r.Resource != resource:
		return nil, "what is stored belongs to another URL"
	case r.Tokens == nil:
		return nil, "nobody has logged in"
	case r.Tokens.Dead:
		return nil, "the login has ended"
	case !r.Tokens.aliveAt(now) && r.Tokens.Refresh == "":
		return nil, "the login has ended"
	}
	return r.Tokens, ""
}

// dueAt says whether it is time for a refresh: shortly before the end, and not at once where tokens live that short.
func (t *tokens) dueAt(now time.Time) bool {
	return t.Refresh != "" && !t.aliveAt(now.Add(min(early, max(0, t.Expires.Sub(t.Got)/4))))
}

func (t *tokens) aliveAt(now time.Time) bool {
	return t.Expires.IsZero() || now.Before(t.Expires)
}
