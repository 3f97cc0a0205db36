package httpguard_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// writePair makes a certificate of its own for a name.
func writePair(t *testing.T, cert, key, name string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func nameOf(t *testing.T, c *tls.Config) string {
	t.Helper()
	pair, err := c.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf.Subject.CommonName
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	if _, err := httpguard.TLS(cert, key); err == nil || !strings.Contains(err.Error(), cert) {
		t.Errorf("without files: %v", err)
	}
	writePair(t, cert, key, "old.example")
	c, err := httpguard.TLS(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if c.MinVersion < tls.VersionTLS12 {
		t.Errorf("version %x is taken", c.MinVersion)
	}
	if got := nameOf(t, c); got != "old.example" {
		t.Errorf("shows %s", got)
	}
	writePair(t, cert, key, "new.example")
	if got := nameOf(t, c); got != "new.example" {
		t.Errorf("after the renewal: shows %s", got)
	}
	if err := os.WriteFile(key, []byte("half a"), 0o600); err != nil { // the other file is still to come
		t.Fatal(err)
	}
	if got := nameOf(t, c); got != "new.example" {
		t.Errorf("amid a renewal: shows %s", got)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	if got := nameOf(t, c); got != "new.example" {
		t.Errorf("without a file: shows %s", got)
	}
}
