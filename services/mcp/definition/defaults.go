package definition

import (
	"encoding/json"
	"strings"
	"time"
)

// TransportName is the transport in force: Stdio, StreamableHTTP or SSE.
func (d Definition) TransportName() string {
	switch {
	case d.Command != "" && d.URL == "":
		return Stdio
	case d.Transport == SSE:
		return SSE
	default:
		return StreamableHTTP
	}
}

// IsEnabled says whether agents may use the server.
func (d Definition) IsEnabled() bool { return d.Enabled == nil || *d.Enabled }

// VerifiesTLS says whether the certificate of the server is checked.
func (d Definition) VerifiesTLS() bool { return d.SSLVerify == nil || *d.SSLVerify }

// ApprovalMode is the approval in force.
func (d Definition) ApprovalMode() Approval {
	if d.Approval == "" {
		return Prompt
	}
	return d.Approval
}

// ScopeOr is the scope in force.
func (d Definition) ScopeOr() Scope {
	if d.Scope == "" {
		return Shared
	}
	return d.Scope
}

// RequestTimeout bounds one request.
func (d Definition) RequestTimeout() time.Duration {
	return milliseconds(d.RequestTimeoutMs, DefaultRequestTimeout)
}

// ConnectionTimeout bounds the time until a connection is ready. A runner that may have to download the server has longer.
func (d Definition) ConnectionTimeout() time.Duration {
	if d.Downloads() {
		return milliseconds(d.ConnectionTimeoutMs, downloadTimeout)
	}
	return milliseconds(d.ConnectionTimeoutMs, DefaultConnectionTimeout)
}

// downloadTimeout is the default where a server may have to be downloaded first.
const downloadTimeout = time.Minute

// IdleTimeout is how long a connection is kept that nobody uses.
func (d Definition) IdleTimeout() time.Duration {
	return milliseconds(d.IdleTimeoutMs, DefaultIdleTimeout)
}

func milliseconds(n int, otherwise time.Duration) time.Duration {
	if n <= 0 {
		return otherwise
	}
	return time.Duration(n) * time.Millisecond
}

// Downloads says that the command is a runner that may have to download the server first, such as npx: its first start takes
// longer than a connection otherwise may.
func (d Definition) Downloads() bool {
	program := d.Command[strings.LastIndexAny(d.Command, `/\`)+1:]
	program = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(program), ".exe"), ".cmd")
	first := ""
	for _, a := range d.Args {
		if !strings.HasPrefix(a, "-") {
			first = a
			break
		}
	}
	switch program {
	case "npx", "uvx", "bunx", "pnpx":
		return true
	case "pnpm", "yarn":
		return first == "dlx"
	case "npm":
		return first == "exec" || first == "x"
	case "uv":
		return first == "tool" || first == "run"
	case "bun", "deno":
		return first == "x" || first == "run"
	case "pipx", "docker", "podman":
		return first == "run"
	}
	return false
}

// Clone is a copy that shares nothing with d.
func (d Definition) Clone() Definition {
	var c Definition
	if err := json.Unmarshal(d.encoded(), &c); err != nil {
		panic(err) // it has just been written
	}
	return c
}

// encoded is d in JSON, keys in a fixed order: equal for equal definitions.
func (d Definition) encoded() []byte {
	raw, err := json.Marshal(d) //nolint:gosec // clientKey names a file
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return raw
}

// String is Launch: what is printed by accident shows no secret.
func (d Definition) String() string { return d.Launch() }
