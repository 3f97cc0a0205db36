package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
)

// A cluster that has no leader yet is asked again, whatever way it says so; what is wrong is told at once.
func TestUntilAnswered(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	answers := []error{
		fmt.Errorf("create stream EV: %w", context.DeadlineExceeded),
		fmt.Errorf("create stream EV: %w", &jetstream.APIError{ErrorCode: 10008}),
		fmt.Errorf("create stream EV: %w", &jetstream.APIError{ErrorCode: 10005}),
		nil, wrong,
	}
	told := 0
	next := func() error {
		err := answers[0]
		answers = answers[1:]
		return err
	}
	tell := func(error) { told++ }
	if err := bus.UntilAnswered(t.Context(), time.Hour, tell, next); err != nil || told != 3 {
		t.Errorf("told %d times, %v", told, err)
	}
	if err := bus.UntilAnswered(t.Context(), time.Hour, tell, next); !errors.Is(err, wrong) || told != 3 {
		t.Errorf("told %d times, %v", told, err)
	}
	answers = []error{context.DeadlineExceeded}
	if err := bus.UntilAnswered(t.Context(), 0, tell, next); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no time at all: %v", err)
	}
}
