package callback

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

const (
	maxAnswer  = 64 << 10
	maxReceipt = 200
	// maxAfter bounds what a receiver may ask for; what is older than the outbox's own limit fails by then anyway.
	maxAfter = 7 * 24 * time.Hour
)

// statusError is an answer that is not 2xx.
func statusError(res *http.Response, now time.Time) *channel.Error {
	code := res.StatusCode
	switch {
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 == 5:
		e := channel.Errorf(channel.Retry, "callback: HTTP %d", code)
		e.After = retryAfter(res.Header.Get("Retry-After"), now)
		return e
	case code/100 == 3:
		return channel.Errorf(channel.Permanent, "callback: HTTP %d: redirects are not followed; configure the final URL", code)
	default:
		return channel.Errorf(channel.Permanent, "callback: HTTP %d", code)
	}
}

// retryAfter reads RFC 9110 §10.2.3: seconds or a date. 0 for what is not one of them, or has passed.
func retryAfter(v string, now time.Time) time.Duration {
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseUint(v, 10, 63); err == nil {
		return time.Duration(min(s, uint64(maxAfter/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(now), 0), maxAfter)
	}
	return 0
}

// receiptOf is the receiver's own id of what it took. Its status has said that it took it: whatever is wrong with the
// body, the delivery id does instead.
func receiptOf(res *http.Response, delivery string) string {
	if r := res.Header.Get("Receipt"); printable(r) {
		return r
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return delivery
	}
	var body struct {
		Receipt string `json:"receipt"`
	}
	if json.Unmarshal(data, &body) == nil && printable(body.Receipt) {
		return body.Receipt
	}
	return delivery
}

func printable(s string) bool {
	if s == "" || len(s) > maxReceipt || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
