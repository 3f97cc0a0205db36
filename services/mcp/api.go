package mcp

import (
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// Endpoints of the service, as svc.mcp.<verb>.
const (
	StatusVerb = "status" // StatusRequest → Status
	ReloadVerb = "reload" // ReloadRequest → Reloaded
	ProbeVerb  = "probe"  // ProbeRequest → Probed
	LoginVerb  = "login"  // LoginRequest → Login
	CodeVerb   = "code"   // CodeRequest → Authorized
	LogoutVerb = "logout" // LogoutRequest → Authorized
)

// StatusRequest asks how servers are; without names all of them.
type StatusRequest struct {
	Servers []string `json:"servers,omitempty"`
	// Settled waits, a while, until servers that are new have been asked for their tools.
	Settled bool `json:"settled,omitempty"`
}

// Status is how servers are.
type Status struct {
	Servers []ServerStatus `json:"servers"` // by name
}

// ServerStatus is how one server is, as the process that answers sees it. What is paused is so for all processes.
type ServerStatus struct {
	Name        string             `json:"name"`
	State       string             `json:"state"` // disconnected, connecting, ready, failing, paused, closed
	Since       time.Time          `json:"since,omitzero"`
	Failures    int                `json:"failures,omitempty"` // in a row
	LastError   string             `json:"lastError,omitempty"`
	RetryAfter  time.Time          `json:"retryAfter,omitzero"` // paused until
	Pauses      int                `json:"pauses,omitempty"`    // in a row
	Connections int                `json:"connections"`
	PIDs        []int              `json:"pids,omitempty"` // of child processes
	Server      *ServerInfo        `json:"server,omitempty"`
	Tools       int                `json:"tools"`             // on offer
	Issues      []definition.Issue `json:"issues,omitempty"`  // of its catalogue
	Calls       int                `json:"calls,omitempty"`   // that run now
	Waiting     uint64             `json:"waiting,omitempty"` // calls that are not delivered yet
	AuthStatus  *AuthStatus        `json:"authStatus,omitempty"`
	Stderr      string             `json:"stderr,omitempty"` // the last lines
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol"`
}

// AuthStatus is what is stored of the OAuth credentials of a server.
type AuthStatus struct {
	HasTokens               bool      `json:"hasTokens"`
	RequiresAuthorization   bool      `json:"requiresAuthorization"`
	HasClientInformation    bool      `json:"hasClientInformation"`
	HasCodeVerifier         bool      `json:"hasCodeVerifier"`
	HasDiscoveryState       bool      `json:"hasDiscoveryState"`
	HasLastAuthorizationURL bool      `json:"hasLastAuthorizationUrl"`
	State                   string    `json:"state"` // authorized, authorization-required, login-pending, expired, scope-required
	ExpiresAt               time.Time `json:"expiresAt,omitzero"`
	Scope                   string    `json:"scope,omitempty"`
}

// ReloadRequest asks every process to read its configuration again, to end pauses and to connect anew.
type ReloadRequest struct{}

// Reloaded says what has changed.
type Reloaded struct {
	Servers  []string `json:"servers"`  // configured and enabled
	Resumed  []string `json:"resumed"`  // whose pause has ended
	Problems []string `json:"problems"` // why the configuration could not be read; the one before stays
}

// ProbeRequest asks the service to connect to configured servers, with a connection for that alone.
type ProbeRequest struct {
	Servers []string `json:"servers"`
}

// Probed is what a probe has found out; what `jetclaw mcp probe --json` prints is made of it.
type Probed struct {
	Servers     map[string]ServerProbe `json:"servers"` // those that answered
	Diagnostics []Diagnostic           `json:"diagnostics"`
}

// ServerProbe is what one server has answered.
type ServerProbe struct {
	Launch      string             `json:"launch"`
	Server      ServerInfo         `json:"server"`
	Tools       []string           `json:"tools"`     // as jetclaw calls them, the utility tools included
	Listed      int                `json:"listed"`    // that the server lists, whatever is filtered
	Filtered    int                `json:"filtered"`  // hidden by toolFilter
	Annotated   int                `json:"annotated"` // that say whether they only read
	ReadOnly    int                `json:"readOnly"`  // that say so
	Resources   bool               `json:"resources"`
	Prompts     bool               `json:"prompts"`
	ListChanged ListChanged        `json:"listChanged"`
	Issues      []definition.Issue `json:"issues,omitempty"`
	Resumed     bool               `json:"resumed,omitempty"` // a pause has ended by it
}

// ListChanged says which lists the server announces changes of.
type ListChanged struct {
	Tools     bool `json:"tools"`
	Resources bool `json:"resources"`
	Prompts   bool `json:"prompts"`
}

// Diagnostic is why a server could not be probed.
type Diagnostic struct {
	Server  string `json:"serverName"`
	Launch  string `json:"launchSummary"`
	Message string `json:"message"`
	Stderr  string `json:"stderr,omitempty"`
	// Login says that somebody has to log in first.
	Login bool `json:"login,omitempty"`
}

// LoginRequest begins an OAuth login. Redirect is where the browser comes back to, on the machine of whoever asks.
type LoginRequest struct {
	Server   string `json:"server"`
	Redirect string `json:"redirect"`
}

// Login is a login that has begun.
type Login struct {
	URL     string    `json:"url"` // to be opened in a browser
	State   string    `json:"state"`
	Expires time.Time `json:"expires"`
}

// CodeRequest ends a login. State is "" when a person has typed the code in.
type CodeRequest struct {
	Server string `json:"server"`
	Code   string `json:"code"`
	State  string `json:"state,omitempty"`
	Issuer string `json:"iss,omitempty"`
}

// LogoutRequest removes what is stored of a server's credentials.
type LogoutRequest struct {
	Server string `json:"server"`
}

// Authorized is what is stored after a login or a logout.
type Authorized struct {
	AuthStatus AuthStatus `json:"authStatus"`
}
