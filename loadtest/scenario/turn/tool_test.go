package turn

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/approval"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

func TestToolTurnsAreReportedBesideTheirFloors(t *testing.T) {
	code, out, _ := standin.Run(t, ToolCommand, "--sessions", "1,4", "--sync", "interval", "--rounds", "1", "--warmup", "100ms", "--duration", "300ms", "--parked", "0", "--race", "0", "--json", "-")
	var r toolReport
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || r.Turns == nil || len(r.Turns.Lines) != 2 || len(r.Goals) != 1 || r.Parked != nil || r.Race != nil {
		t.Fatalf("exit %d, %s", code, out)
	}
	const want = "message.received turn.started turn.stepped call.dispatched call.started call.completed turn.continued turn.completed delivery.sent"
	for _, l := range r.Turns.Lines {
		if kinds(l.Shape) != want || l.Added.N == 0 || l.BusTurn.P50 == 0 || l.HTTP.P50 == 0 || l.Ratios.AddedBusP50 == 0 {
			t.Errorf("shape %s, %+v", l.Shape, l)
		}
	}
}

func TestToolUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--sync", "never"},
		{"--sessions", "0"},
		{"--rounds", "-1"},
		{"--parked", "-1"},
		{"--parked", "3", "--approve", "4"},
		{"--race", "-1"},
		{"--connections", "0"},
		{"--calm", "-1s"},
		{"--duration", "0"},
		{"extra"},
	} {
		if code := standin.Misused(t, ToolCommand, args...); code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
	}
	f, err := parseTool([]string{"--parked", "0", "--approve", "7"}, console.Printer{Out: io.Discard, Err: io.Discard})
	if err != nil || f.Timing.Text != exchange.NowText || len(f.cells) != 6 || f.race.deciders != 1000 {
		t.Errorf("%+v, %v", f, err)
	}
}

// court decides as the service does: the first answer counts.
type court struct {
	mu     sync.Mutex
	winner callv1.Decision
	calls  int
}

func (c *court) decide(_ context.Context, _ int, d callv1.Decision) (approval.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	switch {
	case c.calls%3 == 0:
		return approval.Answer{}, fault.New(fault.Busy, "too many")
	case c.winner == "":
		c.winner = d
		return approval.Answer{Text: "Approval a: w was decided by local."}, nil
	case c.winner == d:
		return approval.Answer{Already: true, Text: "Approval a was decided by local at noon, as you say"}, nil
	}
	return approval.Answer{}, fault.New(fault.Conflict, "Approval a was decided by local at noon: the first answer counts")
}

func TestARaceHasOneWinner(t *testing.T) {
	c := &court{}
	r := contest(t.Context(), 40, c.decide)
	if r.Won != 1 || r.Winner != c.winner || r.Same != 19 || r.Lost != 20 || r.Told != 39 || len(r.Unclear) != 0 || r.Again != c.calls-40 || r.Each.N != 40 {
		t.Fatalf("%+v after %d calls", r, c.calls)
	}
	h := daemon.Home{Dir: t.TempDir()}
	journal := []store.Record{{Event: envelope.Event{Body: approvalv1.Decided{Answer: callv1.Approval{Decision: c.winner}}}}}
	if c.winner.Allows() {
		journal = append(journal, store.Record{Event: envelope.Event{Body: callv1.Started{}}})
		standin.WriteFile(t, filepath.Join(h.Workspace(), racePath), approval.Content)
	}
	r.judge(journal, h)
	if missed := standin.MissedOf(r.Goals); len(missed) != 0 {
		t.Errorf("%+v", missed)
	}
}

func TestABrokenRaceIsFound(t *testing.T) {
	good := func() raceReport {
		return raceReport{Deciders: 3, Won: 1, Winner: callv1.AllowOnce, Told: 2, Decided: 1, Stored: callv1.AllowOnce, Claimed: 1, Ran: true}
	}
	for figure, spoil := range map[string]func(*raceReport){
		"":             func(*raceReport) {},
		"winners":      func(r *raceReport) { r.Won = 2 },
		"losers":       func(r *raceReport) { r.Told, r.Unclear = 1, map[string]int{"timeout": 1} },
		"decisions":    func(r *raceReport) { r.Stored = callv1.Deny },
		"decisions in": func(r *raceReport) { r.Decided = 2 },
		"runs":         func(r *raceReport) { r.Claimed = 2 },
		"runs of":      func(r *raceReport) { r.Ran = false },
		"runs of the":  func(r *raceReport) { r.Winner, r.Stored = callv1.Deny, callv1.Deny },
	} {
		r := good()
		spoil(&r)
		r.finish()
		missed := standin.MissedOf(r.Goals)
		if figure == "" && len(missed) != 0 || figure != "" && (len(missed) != 1 || !strings.HasPrefix(missed[0], figure)) {
			t.Errorf("%q: missed %q", figure, missed)
		}
	}
}

func TestParkedApprovalsThatCostSomethingAreFound(t *testing.T) {
	good := func() parkedReport {
		f := footprint{RSS: 40e6, Goroutines: 250, Consumers: []string{"EV/turns"}}
		with := f
		with.RSS, with.Goroutines = 45e6, 250+strayGoroutines
		return parkedReport{Approvals: 1000, Open: 1000, Without: f, Before: f, With: with, Approved: 2, Ran: 2}
	}
	for figure, spoil := range map[string]func(*parkedReport){
		"":                  func(*parkedReport) {},
		"goroutines":        func(r *parkedReport) { r.With.Goroutines++ },
		"consumers":         func(r *parkedReport) { r.With.Consumers = []string{"EV/other"} },
		"parked approvals":  func(r *parkedReport) { r.Open-- },
		"approved calls":    func(r *parkedReport) { r.Ran-- },
		"consumers that 10": func(r *parkedReport) { r.With.Consumers = nil },
	} {
		r := good()
		spoil(&r)
		r.finish()
		missed := standin.MissedOf(r.Goals)
		if figure == "" && len(missed) != 0 || figure != "" && (len(missed) != 1 || !strings.HasPrefix(missed[0], figure)) || r.RSSEach != 5000 {
			t.Errorf("%q: missed %q, %.0f bytes each", figure, missed, r.RSSEach)
		}
	}
	var out strings.Builder
	race := raceReport{Won: 1}
	r := toolReport{Turns: &turnReport{}, Parked: &parkedReport{Approvals: 7, Approved: 1}, Race: &race}
	r.Print(console.Printer{Out: &out, Err: io.Discard})
	for _, want := range []string{"7 calls parked", "answers to one approval", "A turn with one call"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestGoroutinesAreCountedAtTheEndOfADaemon(t *testing.T) {
	const dump = "SIGQUIT: quit\n\ngoroutine 0 gp=0xb80 m=0 mp=0xb81 [idle]:\nruntime.x()\n\ngoroutine 1 [select, 3 minutes]:\nmain.x()\n" +
		"created by main in goroutine 7\n\ngoroutine 42 [chan receive, locked to thread]:\nx [y]:\n"
	if n := daemon.Goroutines([]byte(dump)); n != 3 {
		t.Errorf("%d goroutines, want 3", n)
	}
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := standin.Bench(t)
	h, err := b.Home("quit", "interval", m.URL())
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Start(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Kill()
	if n, err := d.Threads(); err != nil || n < 2 {
		t.Errorf("%d threads, %v", n, err)
	}
	if n, err := d.Quit(h, bench.StopTime); err != nil || n < 10 { // an embedded server alone has more
		t.Errorf("%d goroutines, %v", n, err)
	}
}

func TestConsumersOfAllStreamsAreListed(t *testing.T) {
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for stream, names := range map[string][]string{"A": {"y", "x"}, "B": nil, "C": {"z"}} {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{stream}}); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if _, err := js.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := consumers(t.Context(), js); err != nil || !slices.Equal(got, []string{"A/x", "A/y", "C/z"}) {
		t.Errorf("%q, %v", got, err)
	}
}
