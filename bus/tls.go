package bus

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// tlsHint says what is wrong with whose certificate, and what to do; "" for errors that are not about that.
func tlsHint(o ConnOptions, err error) string {
	if foreign, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		by := "a CA that this machine does not trust; name its file by --tls-ca (remote.tls.ca)"
		if o.TLS != nil && o.TLS.RootCAs != nil {
			by = "another CA than --tls-ca (remote.tls.ca) has"
		}
		return "the server's certificate " + nameOf(foreign.Cert) + " is of " + by
	}
	if other, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate %s is for %s, not for %s: say a name in the URL that it has, or give the server another one",
			nameOf(other.Certificate), strings.Join(hosts(other.Certificate), ", "), other.Host)
	}
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if bad.Reason == x509.Expired && bad.Cert != nil {
			return fmt.Sprintf("the server's certificate %s is good from %s to %s, and not now", nameOf(bad.Cert),
				bad.Cert.NotBefore.UTC().Format(time.DateTime), bad.Cert.NotAfter.UTC().Format(time.DateTime))
		}
		return "the server's certificate " + nameOf(bad.Cert) + " cannot be used"
	}
	// An alert, for which crypto/tls has no type; or its server was gone before we could read it.
	if text := err.Error(); strings.Contains(text, "remote error: tls:") || strings.Contains(text, "closed by remote after TLS handshake") {
		if o.TLS == nil || len(o.TLS.Certificates) == 0 {
			return "the server wants a certificate of ours: --tls-cert and --tls-key (remote.tls.cert, .key)"
		}
		return "the server does not take our certificate (--tls-cert, remote.tls.cert): it has to be of a CA that the server knows"
	}
	if errors.Is(err, nats.ErrSecureConnWanted) {
		return "TLS was asked for (tls:// or --tls-ca), and the server has none"
	}
	return ""
}

func nameOf(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%q (by %q)", c.Subject.String(), c.Issuer.String())
}

func hosts(c *x509.Certificate) []string {
	if c == nil {
		return nil
	}
	all := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return []string{"no host at all"}
	}
	return all
}
