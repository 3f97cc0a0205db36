package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// Offered waits until the daemon knows what its server offers: it finds out beside its turns.
func Offered(ctx context.Context, b *bench.Bench, h daemon.Home) error {
	for patience := time.Now().Add(IdlePatience); ; {
		o, err := h.Run(ctx, b.Binary, "mcp", "status", "--json")
		if err != nil {
			return err
		}
		var s struct {
			Servers []struct {
				Tools int `json:"tools"`
			} `json:"servers"`
		}
		err = json.Unmarshal(o.Stdout, &s)
		switch {
		case o.Code != 0 || err != nil:
			return errors.Join(fmt.Errorf("jetclaw mcp status: exit code %d\n%s", o.Code, o.Stderr), err)
		case len(s.Servers) == 1 && s.Servers[0].Tools > 0:
			return nil
		case time.Now().After(patience) || !pace.Wait(ctx, IdlePoll):
			return fmt.Errorf("no tools of the server are offered: %s", o.Stdout)
		}
	}
}

// How long a daemon may take until it has looked at its servers or let them go, and how often one looks whether it has.
const (
	IdlePatience = 30 * time.Second
	IdlePoll     = 100 * time.Millisecond
)

// Echoed is what the tool echo is told in a measurement.
const Echoed = "do you hear me?"
