package daily_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/daily"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dollar = 1_000_000_000

var (
	noon  = time.Date(2026, 9, 18, 12, 0, 0, 0, time.UTC)
	cheap = turnv1.Usage{Input: 10, Cost: dollar / 4, Priced: true}
)

func completed(model string, u turnv1.Usage) envelope.Body {
	return turnv1.Completed{Outcome: turnv1.Outcome{Model: model, Usage: u}}
}

// journal plays events, and fails as often as it is told to.
type journal struct {
	events []envelope.Event
	fails  []error
	asked  []bus.ReplayOptions
	news   chan envelope.Event
	end    error // of Follow
}

func (j *journal) add(agent string, at time.Time, body envelope.Body) {
	id := session.ID(agent + ".http.token.x")
	j.events = append(j.events, envelope.Event{Cursor: uint64(len(j.events) + 1), Session: id, Time: at, Body: body})
}

func (j *journal) Replay(_ context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error {
	j.asked = append(j.asked, o)
	for _, ev := range j.events {
		if ev.Cursor < o.From {
			continue
		}
		if err := fn(ev); err != nil {
			return err
		}
		if len(j.fails) > 0 {
			err := j.fails[0]
			j.fails = j.fails[1:]
			return err
		}
	}
	return nil
}

func (j *journal) Follow(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error {
	j.asked = append(j.asked, o)
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-j.news:
			if !ok {
				return j.end
			}
			if err := fn(ev); err != nil {
				return err
			}
		}
	}
}

func TestCheck(t *testing.T) {
	day := func(b daily.Budget) daily.Budgets { return daily.Budgets{Budget: b} }
	of := func(agent string, b daily.Budget) daily.Budgets {
		return daily.Budgets{Agents: map[string]daily.Budget{agent: b}}
	}
	free := turnv1.Usage{Input: 10, Priced: true}
	for _, c := range []struct {
		name    string
		budgets daily.Budgets
		usage   turnv1.Usage // of two calls of main
		now     time.Time
		says    string // "": not over
	}{
		{"no budget", daily.Budgets{}, cheap, noon, ""},
		{"money left", day(daily.Budget{Money: dollar/2 + 1}), cheap, noon, ""},
		{"no money left", day(daily.Budget{Money: dollar / 2}), cheap, noon, "The budget of today of all agents is used up: $0.50 of $0.50 are used. It begins anew at 2026-09-19 00:00 UTC. To go on today, raise budget.money in jetclaw.yaml."},
		{"the next day", day(daily.Budget{Money: dollar / 2}), cheap, noon.Add(12 * time.Hour), ""},
		{"just before it", day(daily.Budget{Money: dollar / 2}), cheap, noon.Add(12*time.Hour - 1), "is used up"},
		{"tokens left", day(daily.Budget{Tokens: 21}), cheap, noon, ""},
		{"no tokens left", day(daily.Budget{Tokens: 20}), cheap, noon, "20 of 20 tokens are used. It begins anew at 2026-09-19 00:00 UTC. To go on today, raise budget.tokens in"},
		{"the agent's", of("main", daily.Budget{Money: 1}), cheap, noon, "The budget of today of the agent main is used up: $0.50 of $0.000000001 are used. It begins anew at 2026-09-19 00:00 UTC. To go on today, raise agents.main.budget.money in jetclaw.yaml."},
		{"another agent's", of("work", daily.Budget{Money: 1}), cheap, noon, ""},
		{"of unknown price", day(daily.Budget{Money: 99 * dollar}), turnv1.Usage{Input: 5}, noon, "the price of a/m is not known. It is taken as used up until 2026-09-19 00:00 UTC. To change that, add it to models.prices"},
		{"of unknown price, tokens limited", day(daily.Budget{Tokens: 11}), turnv1.Usage{Input: 5}, noon, ""},
		{"without a count", day(daily.Budget{Money: 99 * dollar}), turnv1.Usage{}, noon, "a/m did not say how many tokens"},
		{"free", day(daily.Budget{Money: 1}), free, noon, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &journal{news: make(chan envelope.Event)}
			j.add("main", noon, completed("a/m", c.usage))
			j.add("main", noon, completed("a/m", c.usage))
			a := daily.New(j, c.budgets)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- a.Run(ctx) }()
			text, over := a.Check(t.Context(), "main", c.now)
			if over != (c.says != "") || !strings.Contains(text, c.says) || !over && text != "" {
				t.Errorf("%s: %t, %q", c.name, over, text)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if after, _ := a.Check(t.Context(), "main", c.now); after != text {
				t.Errorf("%s: at the end it says %q", c.name, after)
			}
		})
	}
}

func TestAny(t *testing.T) {
	if (daily.Budgets{Agents: map[string]daily.Budget{"a": {}}}).Any() {
		t.Error("nothing is limited")
	}
	if !(daily.Budgets{Budget: daily.Budget{Tokens: 1}}).Any() || !(daily.Budgets{Agents: map[string]daily.Budget{"a": {Money: 1}}}).Any() {
		t.Error("something is limited")
	}
}

func TestAPriceThatIsKnownNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{news: make(chan envelope.Event)}
		j.add("main", noon, completed("a/m", turnv1.Usage{Input: 5}))
		a := daily.New(j, daily.Budgets{Budget: daily.Budget{Money: 2}})
		a.Reprice(func(model string, u turnv1.Usage) turnv1.Usage {
			if model == "a/m" {
				u.Cost, u.Priced = 1, true
			}
			return u
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx) }()
		if text, over := a.Check(t.Context(), "main", noon); over {
			t.Error(text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestItFailsClosed(t *testing.T) {
	budgets := daily.Budgets{Budget: daily.Budget{Tokens: 1000}}
	synctest.Test(t, func(t *testing.T) { // nobody reads the journal
		began := time.Now()
		text, over := daily.New(&journal{}, budgets).Check(t.Context(), "main", noon)
		if !over || !strings.Contains(text, "are being read") || time.Since(began) != 2*time.Second {
			t.Errorf("%t, %q after %s", over, text, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, over := daily.New(&journal{}, budgets).Check(ctx, "main", noon); !over || time.Since(began) != 2*time.Second {
			t.Error("it does not end with ctx")
		}
		if _, over := daily.New(&journal{}, daily.Budgets{}).Check(t.Context(), "main", noon); over || time.Since(began) != 2*time.Second {
			t.Error("without a budget it waits, or is over")
		}
	})
	synctest.Test(t, func(t *testing.T) { // the bus is away for a moment: a check waits for it
		j := &journal{fails: []error{fault.New(fault.Unavailable, "away")}, news: make(chan envelope.Event)}
		j.add("main", noon, completed("a/m", cheap))
		j.add("main", noon, completed("a/m", cheap))
		a := daily.New(j, daily.Budgets{Budget: daily.Budget{Tokens: 20}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx) }()
		if text, over := a.Check(t.Context(), "main", noon); !over || !strings.Contains(text, "20 of 20") {
			t.Errorf("%t, %q", over, text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(j.asked) != 3 || j.asked[1].From != 2 || j.asked[2].From != 3 || j.asked[0].Since.IsZero() {
			t.Errorf("asked %+v", j.asked)
		}
	})
	synctest.Test(t, func(t *testing.T) { // it cannot be followed any more
		broken := errors.New("broken")
		j := &journal{news: make(chan envelope.Event), end: broken}
		a := daily.New(j, budgets)
		done := make(chan error)
		go func() { done <- a.Run(t.Context()) }()
		if text, over := a.Check(t.Context(), "main", noon); over {
			t.Error(text)
		}
		close(j.news)
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if _, over := a.Check(t.Context(), "main", noon); !over {
			t.Error("what is not kept any more is still believed")
		}
	})
	synctest.Test(t, func(t *testing.T) { // it cannot be read
		j := &journal{fails: []error{errors.New("broken")}}
		j.add("main", noon, completed("a/m", cheap))
		if err := daily.New(j, budgets).Run(t.Context()); err == nil {
			t.Error("a broken journal is no error")
		}
	})
}

// told passes on when an event has been counted.
type told struct {
	*bus.Conn
	counted chan uint64
}

func (f told) Follow(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error {
	return f.Conn.Follow(ctx, o, func(ev envelope.Event) error {
		err := fn(ev)
		f.counted <- ev.Cursor
		return err
	})
}

func TestOverTheBus(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "turns", Appends: []string{"turn.completed", "session.deleted"}, Follows: true})
	conn := srv.Connect(t, "turns")
	now := time.Now()
	prev := uint64(0)
	appendOne := func(body envelope.Body) {
		t.Helper()
		cursor, err := conn.Journal().Append(t.Context(), envelope.Event{Session: "main.http.token.x", Prev: prev, Time: now, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		prev = cursor
	}
	appendOne(completed("a/m", cheap))
	follower := told{conn, make(chan uint64)}
	a := daily.New(follower, daily.Budgets{Budget: daily.Budget{Money: dollar}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	if err := a.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	for n := 2; n <= 4; n++ {
		if text, over := a.Check(ctx, "main", now); over {
			t.Fatalf("after %d calls: %s", n-1, text)
		}
		appendOne(completed("a/m", cheap))
		<-follower.counted
	}
	if text, over := a.Check(ctx, "main", now); !over || !strings.Contains(text, "$1.00 of $1.00") {
		t.Fatalf("%t, %q", over, text)
	}
	appendOne(turnv1.SessionDeleted{Spent: []turnv1.Spend{{Day: now.UTC().Format(time.DateOnly), Model: "a/m", Calls: 4, Input: 40, Cost: dollar}}})
	<-follower.counted
	if text, over := a.Check(ctx, "main", now); !over || !strings.Contains(text, "$1.00 of $1.00") {
		t.Fatalf("after the session was deleted: %t, %q", over, text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAClockThatIsAheadOpensNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		now := time.Now()
		j.add("main", now, completed("x/y", cheap))
		j.add("main", now, completed("x/y", cheap))
		j.add("main", now.Add(72*time.Hour), messagev1.Received{Text: "from a process whose clock is three days ahead"})
		a := daily.New(j, daily.Budgets{Budget: daily.Budget{Money: dollar / 2}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = a.Run(ctx); close(done) }()
		synctest.Wait()
		if text, over := a.Check(ctx, "main", now); !over {
			t.Errorf("the budget is forgotten: %q", text)
		}
		cancel()
		<-done
	})
}
