// Package definition is what an operator writes about an MCP server, under mcp.servers in jetclaw.yaml: how it is reached, what of
// it agents may use, and how. It is pure: nothing here connects, reads a file or looks at the environment.
//
// The names of the fields are those of other MCP clients' configurations where there are such (command, args, env, url, headers…).
package definition

import "time"

// Transports of a Definition.
const (
	Stdio          = "stdio"           // a child process
	StreamableHTTP = "streamable-http" // the default of a URL
	SSE            = "sse"             // HTTP with server-sent events, deprecated by the protocol
)

// Approval says which calls of a server's tools a person is asked about.
type Approval string

// The approvals. None of them lifts what the gate's own rules ask for.
const (
	Prompt  Approval = "prompt"  // each call; the default
	Auto    Approval = "auto"    // none of tools that the server calls read-only: the owner takes its word
	Approve Approval = "approve" // none
)

// Scope says who shares a connection.
type Scope string

// The scopes.
const (
	Shared     Scope = "shared"  // all conversations; the default
	PerSession Scope = "session" // each conversation has a connection of its own, closed with it
)

// Definition is one configured server.
type Definition struct {
	Command string            `json:"command,omitempty"` // a program: the transport is stdio
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // beside the few variables that each process gets
	Cwd     string            `json:"cwd,omitempty"`

	URL       string            `json:"url,omitempty"`
	Transport string            `json:"transport,omitempty"` // of a URL: StreamableHTTP or SSE
	Headers   map[string]string `json:"headers,omitempty"`
	Auth      string            `json:"auth,omitempty"` // "oauth" or ""
	OAuth     *OAuth            `json:"oauth,omitempty"`
	SSLVerify *bool             `json:"sslVerify,omitempty"` // nil: true
	CACert    string            `json:"caCert,omitempty"`    // file: authorities beside those of the system
	// ClientCert and ClientKey are files with the certificate of this client (mutual TLS).
	ClientCert string `json:"clientCert,omitempty"`
	ClientKey  string `json:"clientKey,omitempty"`

	RequestTimeoutMs    int `json:"requestTimeoutMs,omitempty"`
	ConnectionTimeoutMs int `json:"connectionTimeoutMs,omitempty"`
	IdleTimeoutMs       int `json:"idleTimeoutMs,omitempty"` // after it a connection that nobody uses is closed

	ToolFilter                *ToolFilter `json:"toolFilter,omitempty"`
	SupportsParallelToolCalls bool        `json:"supportsParallelToolCalls,omitempty"`
	Approval                  Approval    `json:"approval,omitempty"`
	Scope                     Scope       `json:"scope,omitempty"`
	Elicitation               bool        `json:"elicitation,omitempty"` // the server may ask the person questions
	Roots                     []string    `json:"roots,omitempty"`       // folders that the server is told of
	Enabled                   *bool       `json:"enabled,omitempty"`     // nil: true
}

// OAuth are the settings of auth "oauth"; all are optional.
type OAuth struct {
	Scope             string `json:"scope,omitempty"`
	RedirectURL       string `json:"redirectUrl,omitempty"`
	ClientMetadataURL string `json:"clientMetadataUrl,omitempty"` // a client id metadata document (CIMD)
	ClientID          string `json:"clientId,omitempty"`          // registered beforehand
	ClientSecret      string `json:"clientSecret,omitempty"`      // env:NAME or file:PATH
	// Issuer is the authorization server that ClientID was registered with; "": whichever the server names.
	Issuer string `json:"issuer,omitempty"`
}

// ToolFilter are globs with * over names of tools, as the server or as jetclaw calls them. No Include: all.
type ToolFilter struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// Defaults and bounds of the limits.
const (
	DefaultRequestTimeout    = time.Minute
	DefaultConnectionTimeout = 30 * time.Second
	DefaultIdleTimeout       = 10 * time.Minute
)
