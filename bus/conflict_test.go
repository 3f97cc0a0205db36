package bus

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestConflictOf has what servers say of a publish that another one was before.
func TestConflictOf(t *testing.T) {
	for _, said := range []struct {
		err  error
		want *Conflict
	}{
		{&jetstream.APIError{ErrorCode: 10071, Description: "wrong last sequence: 17"}, &Conflict{Last: 17, Known: true}},
		{&jetstream.APIError{ErrorCode: 10164, Description: "wrong last sequence"}, &Conflict{}},
		{&jetstream.APIError{ErrorCode: 10158, Description: "duplicate message id is in process"}, &Conflict{}},
		{&jetstream.APIError{ErrorCode: 10077, Description: "maximum bytes exceeded"}, nil},
		{nats.ErrTimeout, nil},
		{nil, nil},
	} {
		got, lost := conflictOf(errors.Join(said.err))
		if lost != (said.want != nil) || lost && *got != *said.want {
			t.Errorf("%v: %v", said.err, got)
		}
	}
}
