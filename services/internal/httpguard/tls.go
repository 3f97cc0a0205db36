package httpguard

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// TLS is how a door serves https with a certificate and its key, two PEM files. They are read now, so that what cannot be used is
// found at the start, and again when one of them has changed: a certificate that is renewed needs no restart. While the new pair
// cannot be used, the last one that could goes on to be shown.
func TLS(cert, key string) (*tls.Config, error) {
	p := &pair{files: [2]string{cert, key}}
	if _, err := p.current(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current() },
	}, nil
}

type pair struct {
	files [2]string

	mu    sync.Mutex
	seen  [2]fs.FileInfo   // guarded by mu; what shown was read from; nil: it has to be read again
	shown *tls.Certificate // guarded by mu; nil: there was none yet
}

// current looks at both files at each handshake: two stats.
func (p *pair) current() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var now [2]fs.FileInfo
	fresh := false
	for i, f := range p.files {
		st, err := os.Stat(f)
		if err != nil {
			return p.last(err)
		}
		now[i] = st
		fresh = fresh || !unchanged(p.seen[i], st) || time.Since(st.ModTime()) < settle
	}
	if !fresh {
		return p.shown, nil
	}
	c, err := tls.LoadX509KeyPair(p.files[0], p.files[1])
	if err != nil {
		return p.last(err)
	}
	p.seen, p.shown = now, &c
	return p.shown, nil
}

// last needs mu.
func (p *pair) last(err error) (*tls.Certificate, error) {
	if p.shown != nil {
		return p.shown, nil
	}
	return nil, fmt.Errorf("certificate %s with the key %s: %w", p.files[0], p.files[1], err)
}
