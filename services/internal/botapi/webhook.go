package botapi

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"regexp"
	"time"
)

// WebhookInfo is what the server says of a webhook (Bot API: WebhookInfo).
type WebhookInfo struct {
	URL            string // "" when none is set
	Pending        int    // updates that wait
	MaxConnections int
	AllowedUpdates []string
	LastError      string    // of the last delivery that failed: printable, at most 300 bytes
	LastErrorAt    time.Time // zero when none has failed
}

type webhookParams struct {
	URL            string   `json:"url"`
	Secret         string   `json:"secret_token"`
	MaxConnections int      `json:"max_connections"`
	Allowed        []string `json:"allowed_updates"`
}

var webhookSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// loopback says whether a host is this machine, where a Bot API server of one's own may call without TLS.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// SetWebhook has updates sent to a URL from now on, and getUpdates refused. The secret comes with each of them, in the header
// X-Telegram-Bot-Api-Secret-Token; without one anybody could send updates, so "" is refused. Updates that wait are kept.
func (c *Client) SetWebhook(ctx context.Context, target, secret string, maxConnections int) error {
	const method = "setWebhook"
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return &Error{Method: method, Class: Refused, Description: "the webhook's URL has to begin with https:// and a host"}
	}
	if !webhookSecret.MatchString(secret) {
		return &Error{Method: method, Class: Refused, Description: "the webhook's secret has to be 1 to 256 of A-Z, a-z, 0-9, _ and -"}
	}
	_, err = c.call(ctx, ask{method: method, hide: []string{secret}, params: webhookParams{
		URL: target, Secret: secret, MaxConnections: min(max(maxConnections, 1), 100), Allowed: AllowedUpdates,
	}})
	return err
}

// DeleteWebhook has updates wait for getUpdates again. Those that wait are kept.
func (c *Client) DeleteWebhook(ctx context.Context) error { return c.do(ctx, "deleteWebhook", nil) }

// GetWebhookInfo says whether a webhook is set, and how it does.
func (c *Client) GetWebhookInfo(ctx context.Context) (WebhookInfo, error) {
	const method = "getWebhookInfo"
	result, err := c.call(ctx, ask{method: method})
	if err != nil {
		return WebhookInfo{}, err
	}
	var got *struct {
		URL            string   `json:"url"`
		Pending        int      `json:"pending_update_count"`
		MaxConnections int      `json:"max_connections"`
		AllowedUpdates []string `json:"allowed_updates"`
		LastError      string   `json:"last_error_message"`
		LastErrorDate  int64    `json:"last_error_date"`
	}
	if json.Unmarshal(result, &got) != nil || got == nil {
		return WebhookInfo{}, unreadable(method)
	}
	w := WebhookInfo{
		URL: got.URL, Pending: got.Pending, MaxConnections: got.MaxConnections, AllowedUpdates: got.AllowedUpdates,
		LastError: clean(got.LastError, c.Redact),
	}
	if got.LastErrorDate > 0 {
		w.LastErrorAt = time.Unix(got.LastErrorDate, 0).UTC()
	}
	return w, nil
}
