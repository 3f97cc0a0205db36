package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

// fail has a process see a server fail until it is paused.
func (h *house) fail(s *Service, name string) {
	h.t.Helper()
	for range 3 {
		s.of(executorOf(name)).note(h.t.Context(), server.Broke{Reason: "it broke"})
	}
}

// TestProcessesSeeTheSame: what one has told of a server or has put on offer, another one neither misses nor undoes.
func TestProcessesSeeTheSame(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	h.offered("fake", "echo")
	one := h.s
	h.start()
	two := h.s
	d := h.dispatched("fake", "flip", `{}`)
	h.run(somebody, d)
	h.offered("fake", "flipped")
	for _, ev := range h.wait("it begins", func(ev envelope.Event) bool { b, ok := ev.Body.(callv1.Started); return ok && b.Call == d.Call }) {
		if ev.Body.(callv1.Started).Worker == two.conn.Instance() {
			one, two = two, one
		}
	}
	h.fail(two, "fake") // which does not know the new list
	h.until("it is paused", func() bool { c, _ := h.catalogue("fake"); return c.Paused != nil })
	if c, _ := h.catalogue("fake"); len(c.Tools) == 0 {
		t.Error("nothing is on offer")
	} else if _, ok := c.Find("fake__flipped"); !ok {
		t.Error("the pause has brought an older catalogue back")
	}
	h.until("the other one knows of the pause", func() bool { return one.refuse(subject.Executor(Name, "fake"), time.Now()) != "" })
	one.of(executorOf("fake")).note(t.Context(), server.Asked{By: "reload"})
	h.until("and the first one of its end", func() bool { return two.refuse(subject.Executor(Name, "fake"), time.Now()) == "" })
	h.until("it is not shown as paused any more", func() bool { c, _ := h.catalogue("fake"); return c.Paused == nil })
}

// TestAPauseHasNoGaps for who looks while it is read again.
func TestAPauseHasNoGaps(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	h.offered("fake", "echo")
	h.fail(h.s, "fake")
	u := h.s.of(executorOf("fake"))
	done := make(chan error, 1)
	go func() {
		var all error
		for range 200 {
			all = errors.Join(all, u.refold(t.Context()))
		}
		done <- all
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if u.refusal(time.Now()) == "" {
				t.Fatal("a call would have been sent to a server that is paused")
			}
		}
	}
}

// TestSilentServersDoNotKeepOthersUnknown: more of them than are asked at a time.
func TestSilentServersDoNotKeepOthersUnknown(t *testing.T) {
	h := newHouse(t)
	servers := map[string]definition.Definition{}
	for i := range 3 * maxOpening {
		d := h.fake()
		d.Args = []string{hostile + "silent"}
		servers[fmt.Sprint("silent", i)] = d
	}
	h.configure(servers)
	h.start()
	h.until("some are asked", func() bool { return len(h.s.slots) == maxOpening })
	servers["fake"] = h.fake()
	h.configure(servers)
	h.offered("fake", "echo")
	for name := range servers {
		if st := h.status(name); st.Failures+st.Pauses > 0 {
			t.Errorf("%s had been waited for: %+v", name, st)
		}
	}
}

// TestTheConfigurationChangesMeanwhile: what is under way with a server as it was configured before says nothing of it as it is now.
func TestTheConfigurationChangesMeanwhile(t *testing.T) {
	h := newHouse(t)
	silent := h.fake()
	silent.Args = []string{hostile + "silent"}
	h.configure(map[string]definition.Definition{"fake": silent})
	h.start()
	u := h.s.of(executorOf("fake"))
	h.until("it is being asked", func() bool { u.mu.Lock(); defer u.mu.Unlock(); return len(u.links) == 1 })
	h.configure(map[string]definition.Definition{"fake": h.fake("--more", "1")})
	h.offered("fake", "more_0000")
	if st := h.status("fake"); st.Failures+st.Pauses > 0 || st.LastError != "" {
		t.Errorf("the one of before has failed: %+v", st)
	}
	old, err := u.acquire(t.Context(), somebody, false)
	if err != nil {
		t.Fatal(err)
	}
	defer u.release(old)
	h.configure(map[string]definition.Definition{"fake": h.fake("--more", "2")})
	h.offered("fake", "more_0001")
	if err := u.list(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if c, _ := h.catalogue("fake"); len(c.Tools) == 0 {
		t.Error("nothing is on offer")
	} else if _, ok := c.Find("fake__more_0001"); !ok {
		t.Error("what the one of before lists is on offer")
	}
	old.failed(t.Context(), errors.New("it broke"))
	if st := h.status("fake"); st.Failures > 0 {
		t.Errorf("%+v", st)
	}
}

// TestACatalogueIsKnownByWhatIsPublished: who finds another one after a crash asks the server.
func TestACatalogueIsKnownByWhatIsPublished(t *testing.T) {
	h := newHouse(t)
	d := h.fake()
	h.configure(map[string]definition.Definition{"fake": d})
	h.start()
	h.offered("fake", "echo")
	if err := h.srv.Admin().JetStream().DeleteStream(t.Context(), "KV_"+subject.Catalog); err != nil {
		t.Fatal(err)
	}
	d.ToolFilter = &definition.ToolFilter{Include: []string{"look"}}
	u := h.s.of(executorOf("fake"))
	u.configure(t.Context(), d)
	made, _, err := h.s.conn.Value(t.Context(), basisKey+"fake")
	if err != nil || string(made) == basis(d) {
		t.Errorf("it could not be published, and is taken for made of %s (%v)", made, err)
	}
}

// TestListsOfConversationsAreReadBesideEachOther, so that one connection that hangs does not hold up the calls of others.
func TestListsOfConversationsAreReadBesideEachOther(t *testing.T) {
	h := newHouse(t)
	d := h.fake()
	d.Args, d.Scope = []string{hostile + "second:" + h.home}, definition.PerSession
	h.configure(map[string]definition.Definition{"x": d})
	h.start()
	hangs, works := h.dispatched("x", "t", `{}`), h.dispatched("x", "t", `{}`)
	h.post(somebody, hangs)
	h.until("a list hangs", func() bool { _, err := os.Stat(claimed(h.home, 1)); return err == nil })
	if got := h.run(another, works); got.Outcome != callv1.OK {
		t.Errorf("%+v", got)
	}
	ends := h.wait("one has ended", func(ev envelope.Event) bool { _, ok := ev.Body.(callv1.Completed); return ok })
	if len(ends) != 1 {
		t.Errorf("it was waited for: %d ends", len(ends))
	}
}

// TestOneCallAtATimeHoweverItComes: not by the consumer, but because its bell is taken for lost, or somebody rings again.
func TestOneCallAtATimeHoweverItComes(t *testing.T) {
	h := newHouse(t)
	d := h.fake()
	d.SupportsParallelToolCalls = false
	h.configure(map[string]definition.Definition{"fake": d})
	h.start()
	first, second := h.dispatched("fake", "slow", `{"ms":600000}`), h.dispatched("fake", "append", `{"marker":"m"}`)
	ctx, cancel := context.WithCancel(t.Context())
	var call sync.WaitGroup
	call.Go(func() { h.s.call(ctx, somebody, first) })
	h.until("it runs", func() bool { return h.effects("slow")["begun"] == 1 })
	short, done := context.WithTimeout(t.Context(), time.Second)
	defer done()
	if got := h.s.call(short, another, second); got.outcome != callv1.Error || h.effects("append")["m"] != 0 {
		t.Errorf("two at a time: %+v", got)
	}
	cancel()
	call.Wait()
	if got := h.s.call(t.Context(), another, second); got.outcome != callv1.OK {
		t.Errorf("%+v", got)
	}
}

// TestAServerThatIsBackIsNotForgotten when its time is over just then.
func TestAServerThatIsBackIsNotForgotten(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	h.offered("fake", "echo")
	for range 200 {
		u := h.s.of(executorOf("fake"))
		u.mu.Lock()
		u.left, u.on = time.Now().Add(-2*forgetAfter), false
		idle := u.retire()
		u.mu.Unlock()
		for _, l := range idle {
			l.end("it is not configured any more")
		}
		var both sync.WaitGroup
		both.Go(func() { u.look(t.Context(), time.Now(), true) })
		both.Go(func() {
			if err := h.s.readAgain(t.Context()); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if h.s.of(executorOf("fake")) == nil {
			t.Fatal("its calls are not taken")
		}
	}
}
