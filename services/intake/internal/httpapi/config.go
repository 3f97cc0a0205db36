package httpapi

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// Config says where to listen and who may come.
type Config struct {
	Listen string            // "127.0.0.1:7450"; a loopback address unless there is a certificate, port 0 takes any
	Tokens map[string]string // bearer token by name; the name is part of session ids and of senders ("http:<name>")
	Hosts  []string          // further Host names to answer to; without port
	// Certificate and Key are PEM files; "" is plain HTTP. They are read again when they have changed.
	Certificate, Key string
	// Holder says who has a taken address ("process 4711 (caddy)"), or "". nil: nobody can tell.
	Holder func(addr string) string
	Stall  time.Duration // a client that takes nothing of a stream for so long is cut; 0: the default
	// DecisionWait is how long a decision waits for its outcome; 0: the default.
	DecisionWait time.Duration
}

// DefaultConfig is the channel as it is without configuration; it has no tokens yet.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:7450", Stall: 10 * time.Second, DecisionWait: 10 * time.Second}
}

// Validate says what is wrong, with the key as it stands in the configuration.
func (c Config) Validate() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("channels.http.listen %q: want host:port, as in 127.0.0.1:7450", c.Listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && c.Certificate == "" {
		return fmt.Errorf("channels.http.listen %q: not a loopback address: tokens would cross the network in the clear; "+
			"give it a certificate, or listen on 127.0.0.1 and put a proxy with TLS before it", c.Listen)
	}
	if (c.Certificate == "") != (c.Key == "") {
		return errors.New("channels.http.tls: cert and key belong together")
	}
	if c.Stall < 0 {
		return fmt.Errorf("channels.http: a stall of %s: want more than 0", c.Stall)
	}
	if c.DecisionWait < 0 || c.DecisionWait > wire.MaxWait {
		return fmt.Errorf("channels.http: a wait of %s for a decision: want more than 0, at most %s", c.DecisionWait, wire.MaxWait)
	}
	if len(c.Tokens) == 0 {
		return errors.New("channels.http: no token: nobody could use it")
	}
	owner := make(map[string]string, len(c.Tokens))
	for name, token := range c.Tokens {
		if _, err := session.New(agent, channel, name, "x"); err != nil {
			return fmt.Errorf("channels.http: name of token %q: %w", name, err)
		}
		if httpguard.WeakToken(token) {
			return fmt.Errorf("channels.http: token %q: at least %d printable characters without spaces", name, httpguard.MinToken)
		}
		if other, ok := owner[token]; ok {
			return fmt.Errorf("channels.http: tokens %q and %q are the same: nobody could tell who writes", other, name)
		}
		owner[token] = name
	}
	return nil
}
