package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
)

// How long a daemon that answers may take until it says how its bus is reached, and how often one looks.
const (
	endpointTime = 10 * time.Second
	endpointPoll = 5 * time.Millisecond
)

// Endpoint is the URL of the running daemon's bus. The daemon answers over HTTP a moment before it says it: that is waited for.
func (h Home) Endpoint(ctx context.Context) (string, error) {
	var at struct {
		URL string `json:"url"`
	}
	for patience := time.Now().Add(endpointTime); ; {
		b, err := os.ReadFile(filepath.Join(h.Dir, "run", "endpoint.json"))
		if err == nil {
			err = json.Unmarshal(b, &at)
		}
		if err == nil {
			return at.URL, nil
		}
		if time.Now().After(patience) || !pace.Wait(ctx, endpointPoll) {
			return "", fmt.Errorf("endpoint of the daemon: %w", err)
		}
	}
}

// Dial connects to the bus of the running daemon as one of its users, with the key that lies in the home: "cli" is who
// types commands, bus.Admin owns the topology. The caller closes the connection.
func (h Home) Dial(ctx context.Context, user string) (*bus.Conn, error) {
	url, err := h.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	seed, err := os.ReadFile(filepath.Join(h.Dir, "keys", user+".nk"))
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", user, err)
	}
	return bus.Connect(ctx, bus.ConnOptions{
		Service: user, URL: url, Seed: bytes.TrimSpace(seed), Log: slog.New(slog.DiscardHandler),
	})
}

// Workspace is the folder that the main agent works on.
func (h Home) Workspace() string { return filepath.Join(h.Dir, "workspace") }
