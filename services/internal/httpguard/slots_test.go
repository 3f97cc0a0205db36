package httpguard_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

func TestSlots(t *testing.T) {
	s := httpguard.NewSlots(3, 2)
	enter := func(who, want string) func() {
		t.Helper()
		leave, err := s.Enter(who)
		if want == "" && err != nil || want != "" && (fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", who, err, want)
		}
		return leave
	}
	one := enter("a", "")
	enter("a", "")
	enter("a", "2 requests of this caller")
	b := enter("b", "")
	enter("c", "3 requests are open")
	one()
	one() // a second time is nothing
	enter("a", "")
	enter("a", "3 requests are open")
	b()
	enter("a", "2 requests of this caller")
	enter("c", "")
}

func TestSlotsWithoutACapOnCallers(t *testing.T) {
	s := httpguard.NewSlots(2, 0)
	for range 2 {
		if _, err := s.Enter(""); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Enter("other"); fault.KindOf(err) != fault.Busy {
		t.Error(err)
	}
}

func TestSlotsUnderLoad(t *testing.T) {
	const total, each = 6, 3
	s := httpguard.NewSlots(total, each)
	var open, most atomic.Int64
	var by [4]atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			who := i % len(by)
			for range 500 {
				leave, err := s.Enter(string(rune('a' + who)))
				if err != nil {
					continue
				}
				n := open.Add(1)
				if m := most.Load(); n > m {
					most.CompareAndSwap(m, n)
				}
				if n > total || by[who].Add(1) > each {
					t.Error("more are in than may be")
				}
				by[who].Add(-1)
				open.Add(-1)
				leave()
			}
		})
	}
	all.Wait()
	for range total / each { // all slots are free again
		for range each {
			if _, err := s.Enter(string(rune('a' + most.Load()%2))); err != nil {
				t.Fatal(err)
			}
		}
		most.Add(1)
	}
}
