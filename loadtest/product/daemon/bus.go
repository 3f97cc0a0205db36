package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/jetclaw/jetclaw/bus"
)

// Dial connects to the bus of the running daemon as one of its users, with the key that lies in the home: "cli" is who
// types commands, bus.Admin owns the topology. The caller closes the connection.
func (h Home) Dial(ctx context.Context, user string) (*bus.Conn, error) {
	var at struct {
		URL string `json:"url"`
	}
	path := filepath.Join(h.Dir, "run", "endpoint.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &at)
	}
	if err != nil {
		return nil, fmt.Errorf("endpoint of the daemon: %w", err)
	}
	seed, err := os.ReadFile(filepath.Join(h.Dir, "keys", user+".nk"))
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", user, err)
	}
	return bus.Connect(ctx, bus.ConnOptions{
		Service: user, URL: at.URL, Seed: bytes.TrimSpace(seed), Log: slog.New(slog.DiscardHandler),
	})
}

// Workspace is the folder that the main agent works on.
func (h Home) Workspace() string { return filepath.Join(h.Dir, "workspace") }
