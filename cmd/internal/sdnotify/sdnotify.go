// Package sdnotify tells systemd how the process does (sd_notify(3)), where systemd has asked to be told: a unit with
// Type=notify counts as started when everything in it is ready, and not sooner.
package sdnotify

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// What can be told.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

const patience = time.Second // the manager reads its socket, or the machine has other troubles

// Tell sends state to the socket that the environment names. Without one nobody has asked, and nothing is sent.
func Tell(ctx context.Context, lookup func(string) (string, bool), state string) error {
	socket, _ := lookup("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(socket, "@"); ok { // in the abstract name space
		socket = "\x00" + rest
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unixgram", socket)
	if err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	defer c.Close()
	_ = c.SetWriteDeadline(time.Now().Add(patience)) // a socket always takes one
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	return nil
}
