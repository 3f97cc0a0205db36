package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

// authority signs certificates, and writes them to files.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.sign(t, "ca", &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour),
	})
	return a
}

func (a *authority) sign(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(a.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign(t, "server", &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	a.sign(t, "client", &x509.Certificate{
		SerialNumber: big.NewInt(3), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	pair, err := tls.LoadX509KeyPair(a.file("server.pem"), a.file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	site := newSite(t, true)
	web := httptest.NewUnstartedServer(site.Config.Handler)
	web.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	strict := httptest.NewUnstartedServer(site.Config.Handler)
	strict.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	strict.Config.ErrorLog = log.New(io.Discard, "", 0)
	strict.StartTLS()
	defer strict.Close()
	if err := os.WriteFile(a.file("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	off := false
	ca, cert, key := a.file("ca.pem"), a.file("client.pem"), a.file("client.key")
	for name, tc := range map[string]struct {
		d    definition.Definition
		want string // in the error; "" is none
	}{
		"unknown authority": {definition.Definition{URL: web.URL}, "certificate signed by unknown authority"},
		"known authority":   {definition.Definition{URL: web.URL, CACert: ca}, ""},
		"not verified":      {definition.Definition{URL: web.URL, SSLVerify: &off}, ""},
		"mutual":            {definition.Definition{URL: strict.URL, CACert: ca, ClientCert: cert, ClientKey: key}, ""},
		"mutual, without":   {definition.Definition{URL: strict.URL, CACert: ca}, "certificate required"},
		"no key":            {definition.Definition{URL: strict.URL, ClientCert: cert}, "clientCert and clientKey go together"},
		"wrong key":         {definition.Definition{URL: strict.URL, ClientCert: cert, ClientKey: a.file("ca.key")}, "private key does not match"},
		"no such authority": {definition.Definition{URL: web.URL, CACert: a.file("none")}, "caCert: open"},
		"empty authority":   {definition.Definition{URL: web.URL, CACert: a.file("empty")}, "holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(nil)
			o.Definition = tc.d
			s, err := client.Connect(t.Context(), o)
			if err == nil {
				closed(t, s)
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
