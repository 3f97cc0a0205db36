package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Monitors tells whether the binary can be asked for its metrics: `jetclaw run --monitor ADDR`.
func (h Home) Monitors(ctx context.Context, bin string) (bool, error) {
	o, err := h.Run(ctx, bin, "run", "--help")
	return strings.Contains(string(o.Stdout)+string(o.Stderr), "--monitor"), err
}

// Metrics asks a running daemon for its metrics, by the name with labels that each has in the text format of Prometheus.
func (h Home) Metrics(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.Monitor+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("metrics of the daemon: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics of the daemon: %s", res.Status)
	}
	return readMetrics(res.Body)
}

func readMetrics(r io.Reader) (map[string]float64, error) {
	out := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of the daemon: %.200q: %w", line, err)
		}
		out[line[:at]] = v
	}
	return out, lines.Err()
}
