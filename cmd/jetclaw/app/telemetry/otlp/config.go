package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Config says where spans go.
type Config struct {
	Endpoint string      // the whole URL that is posted to
	Headers  http.Header // secrets, as a rule
	Timeout  time.Duration
	Gzip     bool
	TLS      *tls.Config // nil: the system's roots
	Warnings []string    // of variables that are not followed
}

const defaultTimeout = 10 * time.Second

// FromEnv reads the standard variables. ok is false where no traces are wanted: no endpoint is named, or they are switched off.
// Errors name the variable, and never a value that may be a secret.
func FromEnv(lookup func(string) (string, bool)) (c Config, ok bool, err error) {
	get := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	// one of the traces' own variable and the common one, and which it was
	either := func(suffix string) (value, name string) {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + suffix, "OTEL_EXPORTER_OTLP_" + suffix} {
			if v := get(name); v != "" {
				return v, name
			}
		}
		return "", ""
	}
	endpoint, named := either("ENDPOINT")
	exporter := get("OTEL_TRACES_EXPORTER")
	if endpoint == "" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || exporter == "none" {
		return Config{}, false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return Config{}, false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not known here; otlp or none", exporter)
	}
	c = Config{Timeout: defaultTimeout}
	if c.Endpoint, err = address(endpoint, named); err != nil {
		return Config{}, false, err
	}
	switch protocol, name := either("PROTOCOL"); protocol {
	case "", "http/json":
	case "http/protobuf":
		c.Warnings = append(c.Warnings, name+": spans are sent as http/json, which a collector takes at the same address")
	default:
		return Config{}, false, fmt.Errorf("%s: %q is not known here; http/json", name, protocol)
	}
	switch compression, name := either("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		c.Gzip = true
	default:
		return Config{}, false, fmt.Errorf("%s: %q is not known here; gzip or none", name, compression)
	}
	if ms, name := either("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 {
			return Config{}, false, fmt.Errorf("%s: %q is no number of milliseconds", name, ms)
		}
		c.Timeout = time.Duration(n) * time.Millisecond
	}
	if text, name := either("HEADERS"); text != "" {
		if c.Headers, err = headers(text); err != nil {
			return Config{}, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	c.TLS, err = tlsOf(either)
	return c, err == nil, err
}

// address is the URL for traces: the common variable names a base.
func address(endpoint, name string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is no http or https URL, as http://127.0.0.1:4318", name)
	}
	if !strings.Contains(name, "_TRACES_") {
		u = u.JoinPath("v1", "traces")
	} else if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

// headers reads name=value,name=value with values in percent-encoding.
func headers(text string) (http.Header, error) {
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errors.New("has to be name=value pairs with commas between them, values percent-encoded")
		}
		h.Set(name, value)
	}
	return h, nil
}

func tlsOf(either func(string) (string, string)) (*tls.Config, error) {
	roots, rootsName := either("CERTIFICATE")
	cert, certName := either("CLIENT_CERTIFICATE")
	key, _ := either("CLIENT_KEY")
	if roots == "" && cert == "" {
		return nil, nil //nolint:nilnil // the system's
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if roots != "" {
		pem, err := os.ReadFile(roots)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rootsName, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in %s", rootsName, roots)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", certName, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Secrets are the values that may not be seen.
func (c Config) Secrets() []string {
	var all []string
	for _, values := range c.Headers {
		for _, v := range values {
			all = append(all, v)
			if _, token, ok := strings.Cut(v, " "); ok { // "Bearer …"
				all = append(all, token)
			}
		}
	}
	if u, err := url.Parse(c.Endpoint); err == nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	return all
}
