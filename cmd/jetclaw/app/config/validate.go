package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
)

// checker collects what Validate finds.
type checker struct {
	c        *Config
	file     string
	problems []Problem
	warnings []Warning
}

func (k *checker) fail(path, text, hint string) {
	k.problems = append(k.problems, Problem{File: k.file, Position: k.c.at[path], Path: path, Text: text, Hint: hint})
}

func (k *checker) warn(path, text string) {
	k.warnings = append(k.warnings, Warning{File: k.file, Position: k.c.at[path], Path: path, Text: text})
}

// Validate checks values against each other and their ranges. file is for the messages.
func (c *Config) Validate(file string) ([]Problem, []Warning) {
	k := &checker{c: c, file: file}
	k.models()
	k.agents()
	k.channels()
	k.bus()
	k.limits()
	k.retention()
	k.tools()
	k.policy()
	k.rest()
	k.mcp()
	return k.problems, k.warnings
}

func (k *checker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		hint := ""
		if n := suggest.Nearest(value, allowed); n != "" {
			hint = `did you mean "` + n + `"?`
		}
		k.fail(path, "must be one of "+strings.Join(allowed, ", "), hint)
	}
}

func (k *checker) channels() {
	h := k.c.Channels.HTTP
	if host := k.listen("channels.http.listen", h.Listen, 1); host != "" && !loopback(host) && !h.TLS.Set() {
		k.fail("channels.http.listen", "not a loopback address: the token and all messages would cross the network unencrypted",
			"give it a certificate (channels.http.tls: {cert: FILE, key: FILE}), or listen on 127.0.0.1 and put a proxy with TLS before it")
	}
	if h.TLS.Set() && (h.TLS.Cert == "" || h.TLS.Key == "") {
		k.fail("channels.http.tls", "cert and key belong together", "give both: two PEM files, the certificate with its chain and its key")
	}
	for _, name := range h.Hosts {
		if name == "" || strings.ContainsAny(name, "/ *") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
			k.fail("channels.http.hosts", fmt.Sprintf("%q is not the name of a host", name), `without scheme and port, as in "claw.example.org"`)
		}
	}
	if h.Callback.URL != "" {
		if u := k.httpURL("channels.http.callback.url", h.Callback.URL); u != nil && u.Scheme == "http" && !loopback(u.Hostname()) {
			k.warn("channels.http.callback.url", "replies (and the token) cross the network unencrypted; use https")
		}
	} else if h.Callback.Token.Set() {
		k.fail("channels.http.callback.token", "a token without a url", "set channels.http.callback.url")
	}
	k.telegram()
}

func (k *checker) bus() {
	b := k.c.Bus
	k.oneOf("bus.sync", b.Sync, "always", "interval")
	if b.Sync == "interval" {
		k.warn("bus.sync", "a power failure can lose what was acknowledged in the last two minutes (a killed process loses "+
			"nothing); always keeps it")
	}
	if b.Replicas != 0 && b.Replicas != 1 && b.Replicas != 3 && b.Replicas != 5 {
		k.fail("bus.replicas", "must be 1, 3 or 5; or 0 for as many as there are", "")
	}
	if b.MaxBytes != 0 && b.MaxBytes < 16<<20 {
		k.fail("bus.max_bytes", "must be at least 16MiB, or 0 for a share of the disk", "")
	}
	if host := k.listen("bus.listen", b.Listen, 0); host != "" && !loopback(host) {
		k.warn("bus.listen", "other machines can reach the bus and try keys, over an unencrypted connection: the whole journal "+
			"depends on them; for several machines use a NATS cluster with TLS and --nats")
	}
}

func (k *checker) rest() {
	k.identities("owners", k.c.Owners)
	k.oneOf("log.level", k.c.Log.Level, "debug", "info", "warn", "error")
	k.oneOf("log.format", k.c.Log.Format, "auto", "text", "json")
	k.oneOf("outbox.on_unknown", k.c.Outbox.OnUnknown, "resend", "hold")
	if k.c.Outbox.OnUnknown == "hold" {
		k.warn("outbox.on_unknown", "a reply that may or may not have arrived is not sent again: after a crash somebody has to "+
			"look, and what follows in that session waits")
	}
	if host := k.listen("monitor.listen", k.c.Monitor.Listen, 0); host != "" && !loopback(host) {
		k.warn("monitor.listen", "who reaches this address reads, without a login, what runs here and how busy it is (no texts, no "+
			"sessions); let only Prometheus and the orchestrator reach it")
	}
	for i, host := range k.c.Monitor.Hosts {
		if host == "" || strings.ContainsAny(host, ":/ ") {
			k.fail("monitor.hosts["+strconv.Itoa(i)+"]", "must be a name without a port", "")
		}
	}
	if r := k.c.Remote; r.URL != "" {
		if err := CheckBusURL(r.URL); err != nil {
			k.fail("remote.url", err.Error(), "")
		}
		if (r.TLS.Cert == "") != (r.TLS.Key == "") {
			k.fail("remote.tls", "cert and key go together", "")
		}
	}
}

// CheckBusURL says what is wrong with the URL of a bus, or with one of several.
func CheckBusURL(list string) error {
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls":
			return errors.New("must be a URL as nats://host:4222 or tls://host:4222, or several with commas")
		case u.User != nil:
			return errors.New("holds credentials; put them into a file and name it in remote.creds, or by --creds")
		}
	}
	return nil
}

func (k *checker) httpURL(path, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		k.fail(path, "must be a URL as https://host/path", "")
		return nil
	}
	if u.User != nil {
		k.fail(path, "holds a password", "a secret is written as env:NAME or file:PATH in its own setting")
		return nil
	}
	return u
}

// listen checks a host:port and returns its host; "" where nothing listens.
func (k *checker) listen(path, text string, minPort int) string {
	if text == "off" {
		return ""
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		k.fail(path, `must be host:port, or "off"`, `as in "127.0.0.1:7450"`)
		return ""
	}
	if n, err := strconv.Atoi(port); err != nil || n < minPort || n > 65535 {
		k.fail(path, "the port must be a number from "+strconv.Itoa(minPort)+" to 65535", "")
		return ""
	}
	if host == "" {
		return "0.0.0.0"
	}
	return host
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
