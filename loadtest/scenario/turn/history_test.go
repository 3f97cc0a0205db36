package turn

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// brief keeps a measurement of the stand-in short.
func brief(more ...string) []string {
	return append([]string{"--sessions", "2", "--rounds", "2", "--warmup", "50ms", "--duration", "200ms", "--calm", "10ms"}, more...)
}

func TestHistoryReportsOldBesideNew(t *testing.T) {
	code, out, _ := standin.Run(t, Command, brief("--history", "9", "--json", "-")...)
	var r historyReport
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || len(r.Lines) != 1 || r.Messages != 9 || len(r.Goals) != 3 {
		t.Fatalf("exit %d, %s", code, out)
	}
	l := r.Lines[0]
	for name, x := range map[string]exchange.Reading{"old": l.One, "new": l.Other} {
		if x.Turn.P50 == 0 || x.Added.N == 0 || x.PerSecond == 0 || x.RSS == 0 || x.Request == 0 || x.Turns == 0 {
			t.Errorf("%s: %+v", name, x)
		}
	}
	if l.AddedP50 <= 0 || l.TurnP50 <= 0 {
		t.Errorf("ratios: %+v", l)
	}
	// The stand-in compacts after four turns: each of two sessions twice in each of two rounds, at least.
	if g := r.Growth; r.Compactions < 8 || g.Compactions < 4 || g.Idle == 0 || g.Once == 0 || g.Twice == 0 || g.Request < 200 || g.RequestLast < 200 {
		t.Errorf("%d compactions, growth %+v", r.Compactions, g)
	}
}

func TestDormantReportsFullBesideEmpty(t *testing.T) {
	code, out, _ := standin.Run(t, Command, brief("--dormant", "30", "--json", "-")...)
	var r dormantReport
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || len(r.Lines) != 1 || len(r.Homes) != 1 || r.Sessions != 30 || len(r.Goals) != 2 {
		t.Fatalf("exit %d, %s", code, out)
	}
	if l := r.Lines[0]; l.One.Added.N == 0 || l.Other.Added.N == 0 || l.AddedP50 <= 0 {
		t.Errorf("%+v", l)
	}
	if h := r.Homes[0]; h.Sync != "interval" || h.Ready == 0 || h.ReadyEmpty == 0 || h.RSS == 0 || h.RSSEmpty == 0 {
		t.Errorf("%+v", h)
	}
}

func TestComparisonsArePrinted(t *testing.T) {
	var out strings.Builder
	p := console.Printer{Out: &out, Err: io.Discard}
	r := historyReport{Messages: 10, Lines: []exchange.Compared{{Cell: exchange.Cell{Sync: "interval", Sessions: 1}, CPU: 1.25, AddedP50: 1.6}}}
	r.goals()
	r.Print(p)
	d := dormantReport{Sessions: 7, Homes: []dormantHome{{Sync: "always"}}}
	d.Print(p)
	for _, want := range []string{"1.25×", "1.60×", "missed", "meant for 1000 messages", "7 dormant sessions", "sync always: ready"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestRatiosAreThoseOfTheirRounds(t *testing.T) {
	at := func(d time.Duration) exchange.Reading { return exchange.Reading{CPU: d, Added: stat.Spread{P50: d}} }
	// The second round was slow for both: its ratio counts, its time does not.
	c := exchange.Compare(exchange.Cell{}, []exchange.Reading{at(2), at(30), at(4)}, []exchange.Reading{at(1), at(10), at(2)})
	if c.CPU != 2 || c.AddedP50 != 2 || c.One.CPU != 4 || c.Other.CPU != 2 {
		t.Errorf("%+v", c)
	}
}
