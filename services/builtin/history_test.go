package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const somebody = session.ID("main.http.test.one")

// bench counts what tools do.
type bench struct {
	mu  sync.Mutex
	ran map[string]int // guarded by mu; by call
}

func (b *bench) tool(name string, again bool, fate func(ctx context.Context) (tool.Result, error)) tool.Tool {
	return tool.Tool{
		Tool: toolv1.Tool{Name: name, Again: again, Timeout: 20 * time.Second, Schema: json.RawMessage(`{"type":"object"}`)},
		Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			b.mu.Lock()
			b.ran[string(c.Arguments)]++
			b.mu.Unlock()
			return fate(ctx)
		},
	}
}

func wait(ctx context.Context, d time.Duration) (tool.Result, error) {
	select {
	case <-time.After(d):
		return tool.Result{Text: "done"}, nil
	case <-ctx.Done():
		return tool.Result{Text: "half"}, context.Cause(ctx)
	}
}

func service(b *bench, slow time.Duration) *Service {
	s := &Service{log: slog.New(slog.DiscardHandler), tools: map[string]tool.Tool{}}
	for _, t := range []tool.Tool{
		b.tool("once", false, func(ctx context.Context) (tool.Result, error) { return wait(ctx, slow) }),
		b.tool("again", true, func(ctx context.Context) (tool.Result, error) { return wait(ctx, slow) }),
		b.tool("fails", false, func(context.Context) (tool.Result, error) { return tool.Result{}, fmt.Errorf("no such file") }),
		b.tool("hangs", false, func(ctx context.Context) (tool.Result, error) { return wait(ctx, time.Hour) }),
		b.tool("breaks", false, func(context.Context) (tool.Result, error) { panic("broken") }),
	} {
		s.tools[t.Name] = t
	}
	return s
}

// TestHistories runs the executor's own machine and effect in the shell, several calls of a session at a time: several
// workers, lost acks, late acks, duplicates, reordering, conflicts, a crash or a stop at every step, cancelled turns,
// bells that are lost and made good by a ring.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		turns := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"once", "once", "again", "fails", "hangs", "breaks", "gone"}), 1, 5), 1, 3).Draw(rt, "turns")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 15_000), len(turns), len(turns)).Draw(rt, "gaps")
		ends := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "cancelled", "deleted"}), len(turns), len(turns)).Draw(rt, "ends")
		lost := rapid.SliceOfN(rapid.IntRange(0, 9_000), 0, 2).Draw(rt, "lost ms")
		slow := time.Duration(rapid.IntRange(0, 18_000).Draw(rt, "tool ms")) * time.Millisecond
		b := &bench{ran: map[string]int{}}
		s := service(b, slow)
		sc := actortest.Scenario[execution.State]{
			Spec: Spec(), Machine: s.machine(), Workers: rapid.IntRange(1, 3).Draw(rt, "workers"), Tape: actortest.Tape(rt),
			Script: func(w *actortest.World) {
				for i, calls := range turns {
					for j, name := range calls {
						w.Post(somebody, s.dispatched(i, j, name), fmt.Sprint("call", i, j))
					}
					time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
					switch ends[i] {
					case "cancelled":
						w.Post(somebody, turnv1.Cancelled{Turn: turnOf(i), By: "x"}, fmt.Sprint("end", i))
					case "deleted":
						w.Delete(somebody, turnv1.SessionDeleted{By: "x"}, fmt.Sprint("end", i))
					}
				}
				for _, ms := range lost { // the bells of what is open: one ring is enough for all of it
					time.Sleep(time.Duration(ms) * time.Millisecond)
					w.Lose(somebody)
					w.Ring(somebody)
				}
			},
			Check: func(_ session.ID, events []envelope.Event, st execution.State) error { return b.check(s, events, st) },
		}
		var verdict error
		synctest.Test(t, func(*testing.T) { verdict = actortest.Run(sc) })
		if verdict != nil {
			rt.Fatal(verdict)
		}
	})
}

func turnOf(i int) string { return fmt.Sprint("m", i, "/t") }

func (s *Service) dispatched(turn, n int, name string) callv1.Dispatched {
	args := json.RawMessage(fmt.Sprintf(`{"call":"%d.%d"}`, turn, n))
	r := callv1.Request{
		Turn: turnOf(turn), Call: fmt.Sprint("c", n), Index: n, Tool: name, Executor: Executor,
		Arguments: args, Digest: canonical.Digest(args), ToolDigest: s.tools[name].Digest(),
	}
	return callv1.Dispatched{Request: r, Rule: "level L0"}
}

// check reads the journal without the machine's help.
func (b *bench) check(s *Service, events []envelope.Event, st execution.State) error {
	type course struct {
		d         callv1.Dispatched
		starts    int
		open      bool
		outcome   callv1.Outcome
		cancelled bool
	}
	all := map[string]*course{}
	for _, e := range events {
		switch v := e.Body.(type) {
		case callv1.Dispatched:
			all[v.Turn+v.Call] = &course{d: v}
		case turnv1.Cancelled:
			for _, c := range all {
				c.cancelled = c.cancelled || c.d.Turn == v.Turn
			}
		case callv1.Started:
			c := all[v.Turn+v.Call]
			if c == nil || c.outcome != "" || c.cancelled || v.Attempt != c.starts+1 || c.starts > 0 && !s.tools[c.d.Tool].Again {
				return fmt.Errorf("event %d: %s is started, %+v", e.Cursor, v.Call, c)
			}
			c.starts, c.open = v.Attempt, true
		case callv1.Completed:
			c := all[v.Turn+v.Call]
			if c == nil || !c.open || c.outcome != "" || v.Attempt != c.starts {
				return fmt.Errorf("event %d: %s is completed, %+v", e.Cursor, v.Call, c)
			}
			if c.cancelled != (v.Outcome == callv1.Cancelled) {
				return fmt.Errorf("event %d: %s ends as %s, and its turn was cancelled: %v", e.Cursor, v.Call, v.Outcome, c.cancelled)
			}
			c.outcome = v.Outcome
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, c := range all {
		ran := b.ran[string(c.d.Arguments)]
		switch {
		case ran > c.starts, ran > 1 && !s.tools[c.d.Tool].Again:
			return fmt.Errorf("%s ran %d times under %d claims", key, ran, c.starts)
		case c.outcome == "" && (c.starts > 0 || !c.cancelled):
			return fmt.Errorf("%s never ended: %+v", key, c)
		case c.outcome == callv1.OK && ran == 0:
			return fmt.Errorf("%s ended as %s and never ran", key, c.outcome)
		}
	}
	if len(st.Calls) > 0 {
		return fmt.Errorf("left over: %+v", st.Calls)
	}
	return nil
}
