package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Equal says whether both describe the same server, used in the same way: what is written out as a default counts as left out.
func (d Definition) Equal(o Definition) bool {
	return bytes.Equal(d.normal().encoded(), o.normal().encoded())
}

// normal writes out what has a default, and leaves out what says nothing.
func (d Definition) normal() Definition {
	n := d.Clone()
	n.Transport = n.TransportName()
	n.Approval, n.Scope = n.ApprovalMode(), n.ScopeOr()
	enabled, verify := n.IsEnabled(), n.VerifiesTLS()
	n.Enabled, n.SSLVerify = &enabled, &verify
	n.RequestTimeoutMs = int(n.RequestTimeout().Milliseconds())
	n.ConnectionTimeoutMs = int(n.ConnectionTimeout().Milliseconds())
	n.IdleTimeoutMs = int(n.IdleTimeout().Milliseconds())
	if n.OAuth != nil && *n.OAuth == (OAuth{}) {
		n.OAuth = nil
	}
	if f := n.ToolFilter; f != nil && len(f.Include) == 0 && len(f.Exclude) == 0 {
		n.ToolFilter = nil
	}
	return n
}

// Connects is d with nothing but what a connection depends on: while it stays Equal, there is no reason to connect anew.
func (d Definition) Connects() Definition {
	c := d.Clone()
	c.ToolFilter, c.Approval, c.Enabled = nil, "", nil
	c.SupportsParallelToolCalls = false
	return c
}

// Endpoint identifies where the tools run, for a person and for the approvals that hold there: the launch text, the names of
// variables and headers, and a digest that changes with everything of it, secrets included. No secret can be read from it.
func (d Definition) Endpoint() string {
	n := d.normal()
	where := Definition{
		Command: n.Command, Args: n.Args, Env: n.Env, Cwd: n.Cwd,
		URL: n.URL, Transport: n.Transport, Headers: n.Headers, Auth: n.Auth, OAuth: n.OAuth,
		SSLVerify: n.SSLVerify, CACert: n.CACert, ClientCert: n.ClientCert, ClientKey: n.ClientKey,
	}
	text := d.Launch()
	if names := slices.Sorted(maps.Keys(d.Env)); len(names) > 0 {
		text += " env " + strings.Join(names, ",")
	}
	if names := slices.Sorted(maps.Keys(d.Headers)); len(names) > 0 {
		text += " headers " + strings.Join(names, ",")
	}
	sum := sha256.Sum256(where.encoded())
	return text + " #" + hex.EncodeToString(sum[:8])
}
