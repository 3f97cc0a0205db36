package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Endpoint says how the CLI, and other processes of the same home, reach the daemon. It holds no secret: the keys lie in
// keys/.
type Endpoint struct {
	PID     int    `json:"pid"`
	URL     string `json:"url"`            // of the bus
	HTTP    string `json:"http,omitempty"` // address of the HTTP API
	Models  string `json:"models,omitempty"`
	Version string `json:"version"`
}

// ErrNoEndpoint says that no daemon has told where it is: none runs, or it is still starting.
var ErrNoEndpoint = errors.New("no daemon has written its endpoint")

// WriteEndpoint tells others where this process is.
func (l *Lock) WriteEndpoint(e Endpoint) error {
	data, err := json.MarshalIndent(e, "", "  ")
	if err == nil {
		err = writeFile(l.home.endpoint(), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", l.home.endpoint(), err)
	}
	return nil
}

// Endpoint reads where the daemon is. It is the truth only while somebody holds the lock: see Acquire.
func (h Home) Endpoint() (Endpoint, error) {
	var e Endpoint
	data, err := os.ReadFile(h.endpoint())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, ErrNoEndpoint
	case err != nil:
		return e, fmt.Errorf("read the endpoint: %w", err)
	}
	if err := json.Unmarshal(data, &e); err != nil || e.URL == "" {
		return Endpoint{}, fmt.Errorf("%s cannot be read; stop the daemon and remove it", h.endpoint())
	}
	return e, nil
}

func (h Home) removeEndpoint() error {
	if err := os.Remove(h.endpoint()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
