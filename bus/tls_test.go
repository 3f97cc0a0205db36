package bus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/jetclaw/jetclaw/bus"
)

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{pool: x509.NewCertPool()}
	a.cert, a.key = a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pool.AddCert(a.cert)
	return a
}

func (a authority) sign(t *testing.T, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// pair is a certificate for a host; one that has ended, with ended.
func (a authority) pair(t *testing.T, host string, ended bool) tls.Certificate {
	t.Helper()
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: "of " + host}, DNSNames: []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		c.DNSNames, c.IPAddresses = nil, []net.IP{ip}
	}
	if ended {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	}
	made, key := a.sign(t, c)
	return tls.Certificate{Certificate: [][]byte{made.Raw}, PrivateKey: key}
}

func tlsServer(t *testing.T, c *tls.Config) string {
	t.Helper()
	n, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, TLSConfig: c, TLSTimeout: 10})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() {
		n.Shutdown()
		n.WaitForShutdown()
	})
	if !n.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not begin")
	}
	return "tls://" + n.Addr().String()
}

// What is wrong with a certificate is said, with its name and the host.
func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	good := ours.pair(t, "127.0.0.1", false)
	mutual := &tls.Config{Certificates: []tls.Certificate{good}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.pool}
	one := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	knows := &tls.Config{RootCAs: ours.pool}
	with := func(c tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ours.pool, Certificates: []tls.Certificate{c}}
	}
	for name, tc := range map[string]struct {
		server, client *tls.Config
		want           []string // nothing: it connects
	}{
		"good":             {one(good), knows, nil},
		"mutual":           {mutual, with(good), nil},
		"no certificate":   {mutual, knows, []string{"wants a certificate of ours", "--tls-cert"}},
		"foreign client":   {mutual, with(theirs.pair(t, "127.0.0.1", false)), []string{"certificate"}},
		"unknown CA":       {one(theirs.pair(t, "127.0.0.1", false)), knows, []string{"CN=theirs", "another CA than --tls-ca"}},
		"unknown, no CA":   {one(good), nil, []string{"CN=ours", "name its file by --tls-ca"}},
		"another host":     {one(ours.pair(t, "n1.example", false)), knows, []string{"is for n1.example, not for 127.0.0.1"}},
		"ended":            {one(ours.pair(t, "127.0.0.1", true)), knows, []string{"is good from", "and not now"}},
		"a server without": {nil, knows, []string{"the server has none"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := bus.Connect(t.Context(), bus.ConnOptions{
				Service: "turns", URL: tlsServer(t, tc.server), TLS: tc.client, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			})
			if err == nil {
				_ = c.Close(t.Context())
			}
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("%v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}
