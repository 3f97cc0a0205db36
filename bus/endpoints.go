package bus

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Endpoints are what a service answers, by verb.
type Endpoints map[string]Handler

// ServeAll serves endpoints until ctx ends, and closes ready once all of them are in force. It returns nil when ctx ended it.
func (c *Conn) ServeAll(ctx context.Context, ready chan<- struct{}, all Endpoints) error {
	for verb, handle := range all {
		if err := c.Serve(ctx, verb, handle); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was asked to stop before it had begun
			}
			return fmt.Errorf("%s: %w", c.service, err)
		}
	}
	close(ready)
	<-ctx.Done()
	return nil
}

// Question decodes what an endpoint is asked. What cannot be read is fault.Invalid.
func Question[R any](data []byte) (R, error) {
	var r R
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fault.New(fault.Invalid, "the question cannot be read: %w", err)
	}
	return r, nil
}
