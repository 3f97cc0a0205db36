package turn

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
)

func TestTurnReportsBesideItsFloors(t *testing.T) {
	code, out, _ := standin.Run(t, Command, "--sessions", "1,4", "--sync", "interval", "--rounds", "1", "--warmup", "100ms", "--duration", "300ms", "--json", "-")
	var r turnReport
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || len(r.Lines) != 2 || len(r.Goals) == 0 {
		t.Fatalf("exit %d, %s", code, out)
	}
	for _, l := range r.Lines {
		if l.Turn.P50 == 0 || l.Added.N == 0 || l.BusTurn.P50 == 0 || l.HTTP.P50 == 0 || l.PerSecond == 0 || l.RSS == 0 || l.Ratios.TurnBothP50 == 0 {
			t.Errorf("%+v", l)
		}
		if want := "message.received turn.started turn.completed delivery.sent"; kinds(l.Shape) != want || len(l.Shape.Steps[0].Rings) != 1 {
			t.Errorf("shape %s", l.Shape)
		}
	}
}

func kinds(s floor.Shape) string {
	var all []string
	for _, st := range s.Steps {
		all = append(all, st.Kind)
	}
	return strings.Join(all, " ")
}
