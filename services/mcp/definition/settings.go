package definition

import (
	"slices"
	"strings"
)

// settings are the keys of a Definition.
var settings = []string{
	"command", "args", "env", "cwd", "url", "transport", "headers", "auth", "oauth", "sslVerify", "caCert", "clientCert", "clientKey",
	"requestTimeoutMs", "connectionTimeoutMs", "idleTimeoutMs", "toolFilter", "supportsParallelToolCalls", "approval", "scope",
	"elicitation", "roots", "enabled",
}

// nested are the keys of its sections.
var nested = map[string][]string{
	"oauth":      {"scope", "redirectUrl", "clientMetadataUrl", "clientId", "clientSecret", "issuer"},
	"toolFilter": {"include", "exclude"},
}

// moved are settings of other clients, and what they are called here.
//
//nolint:gosec // names, no credentials
var moved = map[string]string{
	"timeout":              "requestTimeoutMs, in milliseconds",
	"httpUrl":              "url",
	"serverUrl":            "url",
	"environment":          "env",
	"includeTools":         "toolFilter.include",
	"excludeTools":         "toolFilter.exclude",
	"enabled_tools":        "toolFilter.include",
	"disabled_tools":       "toolFilter.exclude",
	"trust":                "approval: approve",
	"startup_timeout_sec":  "connectionTimeoutMs, in milliseconds",
	"tool_timeout_sec":     "requestTimeoutMs, in milliseconds",
	"bearer_token_env_var": `headers: {"Authorization": "Bearer ${NAME}"}`,
	"oauth.scopes":         "oauth.scope, with spaces between them",
	"oauth.redirectUri":    "oauth.redirectUrl",
	"oauth.redirectURL":    "oauth.redirectUrl",
	"oauth.authProfileId":  "not there: jetclaw keeps its own credentials, see mcp login",
	"oauth.identity":       "not there: credentials are the operator's; scope: session keeps conversations apart",
}

// nearest is the known key closest to what was written, or "" when none is close.
func nearest(key string, known []string) string {
	best, distance := "", len(key)/3+2
	for _, k := range known {
		if d := edits(strings.ToLower(key), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits counts insertions, deletions and replacements that turn a into b. Keys are short; a longer one is like none of them.
func edits(a, b string) int {
	const longest = 64
	if len(a) > longest {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := slices.Clone(row)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
		}
		row = next
	}
	return row[len(b)]
}
