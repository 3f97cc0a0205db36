package approvals

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// TestRace: of a thousand that decide one approval at once, by the endpoint of two workers and in the chat, one wins, and
// each is told so or who did.
func TestRace(t *testing.T) {
	const racers, talkers = 1000, 20
	h := newHouse(t)
	h.run(t, Config{})
	h.run(t, Config{})
	id := h.park(t, talk, "c1")
	var wg sync.WaitGroup
	var won, same, lost atomic.Int64
	begin := make(chan struct{})
	for i := range racers {
		d := callv1.Deny
		if i%2 == 0 {
			d = callv1.AllowOnce
		}
		wg.Go(func() {
			<-begin
			switch got, err := h.insist(t.Context(), DecideRequest{Approval: id, Decision: d}); {
			case err == nil && got.Already:
				same.Add(1)
			case err == nil:
				won.Add(1)
			case fault.KindOf(err) == fault.Conflict:
				lost.Add(1)
			default:
				t.Errorf("no clear answer: %v", err)
			}
		})
	}
	close(begin)
	for i := range talkers {
		h.submit(t, talk, fmt.Sprint("s", i), anna, id, callv1.AllowOnce)
	}
	wg.Wait()
	chat := 0
	for i := range talkers {
		h.told(t, fmt.Sprint("s", i))
	}
	decided := 0
	for _, e := range h.until(t, func([]envelope.Event) bool { return true }) {
		if e.Kind() == "approval.decided" {
			decided++
			if e.Cause[0] == 's' && len(e.Cause) <= 3 { // a submission: s0 … s19
				chat++
			}
		}
	}
	if decided != 1 || won.Load()+int64(chat) != 1 || won.Load()+same.Load()+lost.Load() != racers {
		t.Errorf("%d events; %d won, %d in the chat, %d the same, %d lost", decided, won.Load(), chat, same.Load(), lost.Load())
	}
}

// insist asks again while the service is busy.
func (h *house) insist(ctx context.Context, r DecideRequest) (DecideAnswer, error) {
	for {
		got, err := h.decide(ctx, r)
		if k := fault.KindOf(err); k != fault.Busy && k != fault.Timeout {
			return got, err
		}
	}
}

// TestManyParked: what waits for a person costs no goroutine and no consumer, and can still be found, listed and decided.
func TestManyParked(t *testing.T) {
	const many = 10_000
	h := newHouse(t)
	h.run(t, Config{})
	settle := func() (goroutines, consumers, unacked int) {
		t.Helper()
		stream, err := h.bus.Admin().JetStream().Stream(t.Context(), subject.Journal)
		if err != nil {
			t.Fatal(err)
		}
		c, err := stream.Consumer(t.Context(), approval.Service)
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), all.State.Consumers, info.NumAckPending + int(info.NumPending)
	}
	first := h.park(t, session.ID("main.http.web.s0"), "c1")
	goroutines, consumers, _ := settle()
	var wg sync.WaitGroup
	const posters = 8
	for p := range posters {
		wg.Go(func() {
			for i := 1 + p; i < many; i += posters {
				s := session.ID(fmt.Sprintf("main.http.web.s%d", i))
				post(t, h.tools, s, fmt.Sprint("w", i), mail("m/t", "c1", "p1", `{"to":"y"}`))
			}
		})
	}
	wg.Wait()
	h.until(t, func(e []envelope.Event) bool { return len(e) >= 2*many })
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(patience); ; {
		g, c, unacked := settle()
		if unacked == 0 && g <= goroutines+10 && c == consumers {
			break
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%d goroutines, before %d; %d consumers, before %d; %d bells open", g, goroutines, c, consumers, unacked)
		}
	}
	l := h.list(t, ListRequest{})
	if len(l.Approvals) == 0 || len(l.Approvals)+l.More != many || l.Approvals[0].Approval != first {
		t.Errorf("listed %d, more %d, want %d", len(l.Approvals), l.More, many)
	}
	last := approval.ID("main.http.web.s9999", "w9999")
	if _, err := h.decide(t.Context(), DecideRequest{Approval: last, Decision: callv1.AllowOnce}); err != nil {
		t.Error(err)
	}
}
