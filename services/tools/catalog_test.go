package tools

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// away is a catalogue that cannot be read.
type away struct{}

func (away) Catalog(context.Context) (map[string][]byte, error) { return nil, errors.New("away") }

func (away) CatalogRevision(context.Context) (uint64, error) { return 0, errors.New("away") }

// TestBlind: without a catalogue nothing is decided, neither for a call nor against it.
func TestBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		s := &Service{shelf: &shelf{from: away{}, log: log}}
		st := call.State{}.Apply(envelope.Event{ID: "e1", Cursor: 1, Body: turnv1.Stepped{
			Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c", Tool: "now", Arguments: []byte(`{}`)}},
		}})
		now := time.Now()
		if got, want := s.next(st, machine.View{Session: somebody, Now: now}), (machine.Wait{Until: now.Add(blind)}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
