package actor

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/session"
)

type sized struct {
	Name  string
	Lines []string
	Index map[string]int
	At    time.Time
	next  *sized
	any   any
	raw   []byte
}

func sizedOf(n int) *sized {
	s := &sized{Name: strings.Repeat("n", n), Index: map[string]int{}, At: time.Now(), raw: make([]byte, n)}
	for i := range n {
		s.Lines = append(s.Lines, strings.Repeat("x", n))
		s.Index[fmt.Sprint("key ", i)] = i
	}
	s.next, s.any = &sized{raw: make([]byte, 3*n)}, sized{Name: strings.Clone(s.Name)}
	return s
}

// TestSizeOf holds sizes against what the heap grows by.
func TestSizeOf(t *testing.T) {
	for _, n := range []int{1, 100, 1000} {
		const states = 32
		before := heap()
		kept := make([]*sized, states)
		for i := range kept {
			kept[i] = sizedOf(n)
		}
		grown := (heap() - before) / states
		got := sizeOf(kept[0])
		if n > 1 && (got < grown/2 || got > grown*3/2) {
			t.Errorf("of %d: %d bytes, the heap says %d", n, got, grown)
		}
		runtime.KeepAlive(kept)
	}
	type loop struct{ again *loop }
	l := &loop{}
	l.again = l
	if got := sizeOf(l); got > 1<<10 {
		t.Errorf("a state that refers to itself: %d bytes", got)
	}
	if got := sizeOf(nil); got != 0 {
		t.Errorf("nothing: %d bytes", got)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestFoldsAreBoundedByBytes: long conversations push others out sooner than short ones do; the one that was folded last stays,
// however long it is.
func TestFoldsAreBoundedByBytes(t *testing.T) {
	const limit = 100 << 10
	f := newFolds[string](Ports{Journal: &shelf{}}, "1", nil, lru.Limits{Entries: 100, Bytes: limit})
	cursor := uint64(0)
	keep := func(name string, bytes int) {
		cursor++
		f.keep(session.ID(name), &folded[string]{state: strings.Repeat("x", bytes), cursor: cursor})
	}
	for i := range 50 {
		keep(fmt.Sprint("short ", i), 100)
	}
	if got := f.kept.Len(); got != 50 {
		t.Fatalf("%d of 50 short ones are kept", got)
	}
	for i := range 50 {
		keep(fmt.Sprint("long ", i), limit/8)
	}
	if n, bytes := f.kept.Len(), f.kept.Bytes(); bytes > limit || n < 5 || n > 8 {
		t.Errorf("%d long ones of %d bytes are kept", n, bytes)
	}
	keep("huge", 10*limit)
	if got := f.cached("huge"); got.cursor != cursor {
		t.Error("the last one was not kept")
	}
	keep("short again", 100)
	if n := f.kept.Len(); n != 1 {
		t.Errorf("%d are kept, and a huge one among them", n)
	}
}

// TestStatesAreMeasuredNowAndThen: a state that grows is seen to grow, and not measured each time.
func TestStatesAreMeasuredNowAndThen(t *testing.T) {
	f := newFolds[string](Ports{Journal: &shelf{}}, "1", nil, DefaultCache())
	at := folded[string]{state: "x", cursor: 1}
	f.keep(one, &at)
	first := at.bytes
	at.state, at.grown = strings.Repeat("x", 64<<10), 1
	if f.keep(one, &at); at.bytes != first {
		t.Error("measured after one event")
	}
	at.grown = measureEvery
	if f.keep(one, &at); at.bytes < 64<<10 || at.grown != 0 || f.kept.Bytes() != at.bytes {
		t.Errorf("%d bytes, %d in the cache, %d events since", at.bytes, f.kept.Bytes(), at.grown)
	}
	at.grown = measureEvery // a large one changes less by an event
	second := at.bytes
	at.state = "x"
	if f.keep(one, &at); at.bytes != second {
		t.Error("a large one was measured after few events")
	}
}
