package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

// Away is a bus elsewhere, and how it is reached.
type Away struct {
	URL   string // several with commas; "": none
	Creds string // file or folder with the keys
	TLS   config.TLS
}

// remote is the bus that the configuration names.
func (e Env) remote() Away {
	r := e.Config.Remote
	at := Away{URL: r.URL, TLS: r.TLS}
	if r.Creds != "" {
		at.Creds = e.Home.Resolve(r.Creds)
	}
	for _, path := range []*string{&at.TLS.CA, &at.TLS.Cert, &at.TLS.Key} {
		if *path != "" {
			*path = e.Home.Resolve(*path)
		}
	}
	return at
}

// At is the same with the bus that was named in the place of that of the configuration; none: as it is. Paths are those of the working
// directory.
func (e Env) At(named Away) (Env, error) {
	if named.URL == "" {
		return e, nil
	}
	for _, path := range []*string{&named.Creds, &named.TLS.CA, &named.TLS.Cert, &named.TLS.Key} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return e, err
		}
	}
	c := *e.Config
	c.Remote = config.Remote{URL: named.URL, Creds: named.Creds, TLS: named.TLS}
	e.Config = &c
	return e, nil
}

// Or is the bus that was named, else the one that the configuration names.
func (e Env) Or(named Away) Away {
	if named.URL != "" {
		return named
	}
	return e.remote()
}

// Validate says what is wrong with what was typed.
func (a Away) Validate() error {
	switch {
	case a.URL == "" && (a.Creds != "" || a.TLS != config.TLS{}):
		return errors.New("--creds, --tls-ca, --tls-cert and --tls-key go with --nats")
	case (a.TLS.Cert == "") != (a.TLS.Key == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case a.URL == "":
		return nil
	}
	if err := config.CheckBusURL(a.URL); err != nil {
		return fmt.Errorf("--nats %w", err)
	}
	return nil
}

// config is nil when nothing is said of TLS: then the scheme of the URL and the server decide.
func (a Away) config() (*tls.Config, error) {
	if a.TLS == (config.TLS{}) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.TLS.CA != "" {
		pem, err := os.ReadFile(a.TLS.CA)
		if err != nil {
			return nil, &CredsError{fmt.Errorf("certificates by which the bus is known: %w", err)}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &CredsError{fmt.Errorf("certificates by which the bus is known: %s has none (PEM)", a.TLS.CA)}
		}
	}
	if a.TLS.Cert != "" {
		pair, err := tls.LoadX509KeyPair(a.TLS.Cert, a.TLS.Key)
		if err != nil {
			return nil, &CredsError{fmt.Errorf("our certificate for the bus (%s, %s): %w", a.TLS.Cert, a.TLS.Key, err)}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// openly warns, once, when what is said on a connection can be read on its way.
func (e Env) openly() func(*bus.Conn) {
	var once sync.Once
	return func(c *bus.Conn) {
		host, _, err := net.SplitHostPort(c.NATS().ConnectedAddr())
		ip := net.ParseIP(host)
		if _, plain := c.NATS().TLSConnectionState(); plain == nil || err != nil || ip == nil || ip.IsLoopback() {
			return
		}
		once.Do(func() {
			e.Notice(fmt.Sprintf("the bus at %s is reached without TLS: whoever is on the way can read and change every conversation; "+
				"give it certificates, and say tls:// or --tls-ca (remote.tls.ca) here", host))
		})
	}
}
