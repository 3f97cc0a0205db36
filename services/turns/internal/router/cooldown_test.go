package router_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", fails(model.Passing, 90*time.Second), says("again"))
		b.models.add("b/two", says("hello"))
		b.ask("a/one")
		time.Sleep(60 * time.Second)
		for range 2 { // also after a restart
			got, _, err, took := b.ask("a/one").all()
			if err == nil || err.RetryAfter != 30*time.Second || !strings.Contains(err.Text, "Please try again then (in 30s)") || took > 0 || got.Model != "" {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got, _, _, _ := b.ask("a/one", "b/two").all(); got.Model != "b/two" || !strings.Contains(tries(got), "on hold until") {
				t.Fatalf("got %+v", got)
			}
			b.restart()
		}
		if one.asked != 1 {
			t.Errorf("it was asked %d times", one.asked)
		}
		one.identity = "k2"
		if got, _, err, _ := b.ask("a/one").all(); err != nil || got.Answer.Text != "again" {
			t.Errorf("a new key is on hold: %+v, %v", got, err)
		}
		one.identity, one.endpoint = "k1", "https://elsewhere"
		if _, _, err, _ := b.ask("a/one").all(); err != nil {
			t.Errorf("a new address is on hold: %v", err)
		}
		one.endpoint = "https://a/one"
		if _, _, err, _ := b.ask("a/one").all(); err == nil {
			t.Error("the old key is not on hold")
		}
		time.Sleep(30 * time.Second)
		if _, _, err, _ := b.ask("a/one").all(); err != nil {
			t.Errorf("after the hold: %v", err)
		}
	})
}

func TestFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", fails(model.Passing, 0))
		b.models.add("b/two", says("hello"))
		for i := range 2 {
			if b.ask("a/one", "b/two"); one.asked != i+1 {
				t.Fatalf("asked %d times", one.asked)
			}
		}
		for n, seconds := range []int{15, 30, 60, 120, 240, 300, 300} {
			time.Sleep(time.Duration(seconds)*time.Second - time.Nanosecond)
			if b.ask("a/one", "b/two"); one.asked != n+2 {
				t.Fatalf("asked before the hold of %ds is over", seconds)
			}
			time.Sleep(time.Nanosecond)
			if b.ask("a/one", "b/two"); one.asked != n+3 {
				t.Fatalf("not asked after the hold of %ds", seconds)
			}
		}
		one.plays = []play{says("back"), fails(model.Passing, 0)}
		one.asked = 0
		time.Sleep(5 * time.Minute)
		for i := range 3 {
			if b.ask("a/one", "b/two"); one.asked != i+1 {
				t.Errorf("an answer did not reset it: asked %d times", one.asked)
			}
		}
		if b.ask("a/one"); one.asked != 4 { // there is nobody else
			t.Errorf("alone, it was asked %d times", one.asked)
		}
	})
}

func TestDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", fails(model.Denied, 0), says("the key works"))
		one.endpoint = "https://a"
		other := b.models.add("a/other", says("hello"))
		other.endpoint = "https://a"
		b.models.add("b/two", fails(model.Passing, time.Minute))
		b.ask("a/one", "b/two")
		got, _, err, _ := b.ask("a/one", "b/two").all()
		if err == nil || got.Model != "" || !strings.Contains(err.Text, "Please try again then (in 1m0s)") || len(got.Tried) != 2 {
			t.Errorf("got %+v, %v", got, err)
		}
		if b.ask("a/other", "b/two"); other.asked > 0 {
			t.Error("a model of the same provider was asked")
		}
		if got, _, err, _ := b.ask("a/one").all(); err != nil || got.Answer.Text != "the key works" {
			t.Errorf("alone: %+v, %v", got, err)
		}
		if got, _, _, _ := b.ask("a/other", "b/two").all(); got.Model != "a/other" {
			t.Errorf("an answer did not end the hold of the provider: %+v", got)
		}
	})
}

func TestTheLaterOfMemoryAndStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", fails(model.Passing, 0))
		b.models.add("b/two", says("hello"))
		b.ask("a/one", "b/two")
		b.store.broken = true
		b.ask("a/one", "b/two")
		b.store.broken = false
		time.Sleep(6 * time.Second)
		if b.ask("a/one", "b/two"); one.asked != 2 {
			t.Errorf("what the store had from before won: asked %d times", one.asked)
		}
	})
}

func TestTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", says("hello"))
		for range 100 {
			b.ask("a/one")
		}
		if b.store.reads != 2 || b.store.writes != 0 {
			t.Errorf("100 good calls: %d reads, %d writes", b.store.reads, b.store.writes)
		}
		other := newBench(t) // another process with the same store
		other.store, other.models = b.store, b.models
		other.restart()
		one.plays, one.asked = []play{fails(model.Passing, time.Minute)}, 0
		other.ask("a/one")
		time.Sleep(5 * time.Second)
		if _, _, err, _ := b.ask("a/one").all(); err == nil || one.asked != 1 {
			t.Errorf("what another process found out is not known: %v, asked %d times", err, one.asked)
		}
	})
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.store.broken, b.store.slow = true, slow
			one := b.models.add("a/one", fails(model.Passing, time.Minute))
			b.models.add("b/two", says("hello"))
			got, _, err, took := b.ask("a/one", "b/two").all()
			if err != nil || got.Model != "b/two" || took > 200*time.Millisecond {
				t.Errorf("slow %t: got %+v, %v after %s", slow, got, err, took)
			}
			if b.ask("a/one", "b/two"); one.asked != 1 {
				t.Errorf("slow %t: the hold is not in memory", slow)
			}
			if strings.Count(b.log.String(), "cannot be read") != 1 || !strings.Contains(b.log.String(), "in memory only") {
				t.Errorf("slow %t: log %s", slow, b.log)
			}
			time.Sleep(10 * time.Second) // the store is back and knows less than the memory
			b.store.broken, b.store.slow = false, false
			if b.ask("a/one", "b/two"); one.asked != 1 {
				t.Errorf("slow %t: the hold was forgotten", slow)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", fails(model.Passing, time.Minute))
		b.ask("a/one")
		for k := range b.store.values {
			b.store.values[k] = []byte("{")
		}
		b.restart()
		if b.ask("a/one"); one.asked != 2 || !strings.Contains(b.log.String(), "cannot be read") {
			t.Errorf("garbage in the store: asked %d times, log %s", one.asked, b.log)
		}
	})
}

// A worker whose clock was wrong has left holds of the future.
func TestAHoldOfTheFutureIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		one := b.models.add("a/one", fails(model.Passing, time.Minute), says("hello"))
		b.ask("a/one")
		for k := range b.store.values {
			b.store.values[k] = []byte(`{"until":"2099-01-01T00:00:00Z","reason":"asked","at":"2099-01-01T00:00:00Z"}`)
		}
		b.restart()
		time.Sleep(48 * time.Hour)
		got, _, err, _ := b.ask("a/one").all()
		if err != nil {
			t.Errorf("asked %d: %+v %v", one.asked, got, err)
		}
	})
}
