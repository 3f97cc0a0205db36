package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
)

// What is still under way is waited for, as long as the caller wants; what has a number can be tried again at once.
func TestSettle(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := (&bus.Conflict{Last: 7, Known: true}).Settle(ended, 9); err != nil {
		t.Errorf("with a number: %v", err)
	}
	if err := (&bus.Conflict{}).Settle(ended, 40); !errors.Is(err, gone) {
		t.Errorf("the caller has gone: %v", err)
	}
	if err := (&bus.Conflict{}).Settle(t.Context(), 2); err != nil {
		t.Error(err)
	}
}
