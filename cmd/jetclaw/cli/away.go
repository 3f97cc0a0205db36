package cli

import (
	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

// awayFlags are those of commands that can be told of a bus elsewhere.
func awayFlags(c *cobra.Command, at *app.Away, creds string) {
	f := c.Flags()
	f.StringVar(&at.URL, "nats", "", "URL of a NATS server to use, or of several with commas")
	f.StringVar(&at.Creds, "creds", "", creds)
	f.StringVar(&at.TLS.CA, "tls-ca", "", "file with the certificates by which that server is known (default: those that this machine trusts)")
	f.StringVar(&at.TLS.Cert, "tls-cert", "", "file with our certificate, where that server asks for one")
	f.StringVar(&at.TLS.Key, "tls-key", "", "file with its key")
}
