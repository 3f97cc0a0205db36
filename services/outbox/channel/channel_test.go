package channel_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

func TestErrorOf(t *testing.T) {
	busy := channel.Errorf(channel.Retry, "busy: %d", 429)
	if e := channel.ErrorOf(fmt.Errorf("send: %w", busy)); e != busy || e.Reason != "busy: 429" {
		t.Errorf("got %+v", e)
	}
	if e := channel.ErrorOf(errors.New("boom")); e.Class != channel.Unknown || e.Reason != "boom" {
		t.Errorf("an error without a class: %+v", e)
	}
}
