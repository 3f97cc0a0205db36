package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	defaultMonitor = "127.0.0.1:9464"
	healthTime     = 5 * time.Second
	maxHealth      = 8 << 10 // bytes of an answer that are shown
)

// healthCommand asks a daemon's monitor, for images that hold nothing but this binary: no shell and no curl.
func (s *shell) healthCommand() *cobra.Command {
	var live bool
	c := &cobra.Command{
		Use:   "health [ADDR]",
		Short: "Ask a running daemon whether it is ready",
		Long: `Asks the monitor of a daemon (run --monitor) whether everything in it is ready, and exits with 0 when it is, else with 1.

ADDR is where it listens; default ` + defaultMonitor + `. An address without a host is this machine. What is not ready is printed.`,
		Example: "  jetclaw health\n  jetclaw health :9464\n  jetclaw health --live",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			at := defaultMonitor
			if len(args) > 0 {
				at = args[0]
			}
			path := "/readyz"
			if live {
				path = "/healthz"
			}
			return s.health(c.Context(), at, path)
		},
	}
	c.Flags().BoolVar(&live, "live", false, "only whether it answers (/healthz instead of /readyz)")
	noCompletion(c)
	return c
}

func (s *shell) health(ctx context.Context, at, path string) error {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return usagef("%q: want HOST:PORT, as in %s", at, defaultMonitor)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() { // as it is written where it listens
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return usagef("%q: want HOST:PORT, as in %s", at, defaultMonitor)
	}
	// No proxy of the environment is asked for a neighbour.
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("ask the monitor at %s: %w (is a daemon running with --monitor %s?)", at, err, at)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxHealth))
	if err != nil {
		return fmt.Errorf("ask the monitor at %s: %w", at, err)
	}
	text := strings.TrimSpace(string(body))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s: %s", at, answer.Status, text)
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}
