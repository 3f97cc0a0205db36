package client

import (
	"crypto/tls"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// TLS is whom a definition trusts, and who we are to it.
func TLS(d definition.Definition) (*tls.Config, error) { return tlsConfig(d) }
