package exchange

import (
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Cell is one line of the turn report: a sync mode and a number of sessions.
type Cell struct {
	Sync     string `json:"sync"`
	Sessions int    `json:"sessions"`
}

// CallsFailed says that a tool call was not carried out: what was measured is then something else.
func CallsFailed(journal []store.Record) error {
	for _, r := range journal {
		switch b := r.Body.(type) {
		case callv1.Denied:
			return fmt.Errorf("a tool call was denied: %s", b.Reason)
		case callv1.Completed:
			if b.Outcome != callv1.OK {
				return fmt.Errorf("a tool call came to the outcome %s: %.200s", b.Outcome, b.Content)
			}
		case turnv1.Stepped:
			for _, c := range b.Calls {
				if c.Refusal != "" {
					return fmt.Errorf("a tool call was refused: %s", c.Refusal)
				}
			}
		}
	}
	return nil
}

// AddedOf is the time between the storing of each marked message and of its answer, less the model's own, which is beside it.
func AddedOf(journal []store.Record, markers []string, m *fakemodel.Server) (added, model stat.Spread) {
	measured := map[string]bool{}
	for _, mk := range markers {
		measured[mk] = true
	}
	type came struct {
		marker string
		at     time.Time
	}
	received := map[string]came{}
	var all, its []time.Duration
	for _, r := range journal {
		switch b := r.Body.(type) {
		case messagev1.Received:
			received[r.ID] = came{marker.First(b.Text), r.Stored}
		case turnv1.Completed:
			for _, id := range b.Answers {
				c := received[id]
				if took := m.Tally(c.marker).Spent; measured[c.marker] && took > 0 {
					all = append(all, r.Stored.Sub(c.at)-took)
					its = append(its, took)
				}
			}
		}
	}
	return stat.SpreadOf(all), stat.SpreadOf(its)
}

// Key is the cell in the id of a figure.
func (c Cell) Key() string { return fmt.Sprintf(".%s.%d", c.Sync, c.Sessions) }

func (c Cell) String() string {
	if c.Sessions == 1 {
		return "1 session, " + c.Sync
	}
	return fmt.Sprintf("%d sessions, %s", c.Sessions, c.Sync)
}
