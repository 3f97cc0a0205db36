package botapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"
)

// envelope is what each answer of the Bot API is wrapped in.
type envelope struct {
	ok          bool
	code        int
	description string
	retryAfter  time.Duration
	migrateTo   int64
	result      json.RawMessage
}

// envelopeOf opens an answer; false for one that has no "ok". A field that cannot be read is as if it were not there: the
// answer says yes or no all the same. The result is not looked into.
func envelopeOf(body []byte) (envelope, bool) {
	fields, ok := members(body)
	if !ok {
		return envelope{}, false
	}
	var e envelope
	if json.Unmarshal(fields["ok"], &e.ok) != nil || string(fields["ok"]) == "null" {
		return envelope{}, false
	}
	e.result = fields["result"]
	readIf(fields["error_code"], &e.code)
	readIf(fields["description"], &e.description)
	if p, ok := members(fields["parameters"]); ok {
		var seconds float64
		readIf(p["retry_after"], &seconds)
		readIf(p["migrate_to_chat_id"], &e.migrateTo)
		e.retryAfter = time.Duration(min(max(seconds, 0), maxRetry.Seconds()) * float64(time.Second))
	}
	return e, true
}

// readIf leaves into as it is when raw is not one.
func readIf[T any](raw json.RawMessage, into *T) {
	var v T
	if json.Unmarshal(raw, &v) == nil {
		*into = v
	}
}

// classOf says what an HTTP status alone means.
func classOf(status int) Class {
	switch {
	case status == http.StatusUnauthorized:
		return Unauthorized
	case status == http.StatusConflict:
		return Conflict
	case status == http.StatusTooManyRequests:
		return Limited
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return Later
	case status/100 == 3, status/100 == 4:
		return Refused
	default:
		return Unknown
	}
}

// retryAfter is what the Bot API says, or else the header in seconds.
func retryAfter(class Class, said time.Duration, h http.Header) time.Duration {
	if class != Limited && class != Later {
		return 0
	}
	if said == 0 {
		if s, err := strconv.ParseUint(h.Get("Retry-After"), 10, 32); err == nil {
			said = time.Duration(s) * time.Second
		}
	}
	if class == Limited {
		said = max(said, minRetry) // a limit without a time must not make a loop without a pause
	}
	return min(said, maxRetry)
}

// whatAnswered describes what is not an answer of the Bot API.
func (c *Client) whatAnswered(a ask, got answer) string {
	status := fmt.Sprintf("HTTP %d", got.status)
	switch {
	case got.over:
		return fmt.Sprintf("%s: the answer is larger than %d bytes", status, a.most)
	case got.cut != "":
		return status + ": the rest of the answer did not come: " + got.cut
	case got.status/100 == 3:
		return status + ": redirects are not followed: api_root has to be the final address"
	case isHTML(got):
		return status + ": " + c.host + " answers HTML, not the Bot API: check api_root"
	default:
		return status + ": " + c.host + " does not answer as the Bot API does: check api_root"
	}
}

func isHTML(got answer) bool {
	kind, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	return err == nil && kind == "text/html" || bytes.HasPrefix(bytes.TrimLeft(got.body, " \t\r\n\uFEFF"), []byte("<"))
}

// describe says what happened in words of ours. Go's own errors quote URLs, and what the server answered.
func describe(err error) string {
	var (
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		refused proxyRefused
		op      *net.OpError
		to      interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &to) && to.Timeout():
		return "the time was up"
	case errors.Is(err, context.Canceled):
		return "the call was cut off"
	case errors.As(err, &dns):
		return fmt.Sprintf("host %q was not found", dns.Name)
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &cert):
		return "the certificate of the host is not trusted"
	case errors.As(err, &record), errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"): // crypto/tls calls alerts so
		return "no TLS connection: the host speaks none, or refuses ours"
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "no way through the proxy: " + describe(op.Err)
	case errors.As(err, &op) && op.Op == "dial" && op.Addr != nil:
		return fmt.Sprintf("no connection to %v: %v", op.Addr, op.Err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke off"
	default:
		return "the connection broke, or does not speak HTTP"
	}
}
