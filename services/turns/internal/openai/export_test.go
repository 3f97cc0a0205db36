package openai

import (
	"context"
	"net"
	"net/http"
	"time"
)

// SetRetryDelay makes retries quick.
func (c *Client) SetRetryDelay(d time.Duration) { c.delay = d }

// SetDial replaces the network, so that a whole exchange fits into a synctest bubble.
func (c *Client) SetDial(dial func(context.Context, string, string) (net.Conn, error)) {
	c.http.Transport.(*http.Transport).DialContext = dial
}

// CloseIdle ends the connections that are kept.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }
