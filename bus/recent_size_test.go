package bus

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestRecentIsBoundedByBytes: what it believes to keep is what the heap grows by, and no more than its limit.
func TestRecentIsBoundedByBytes(t *testing.T) {
	for _, text := range []int{10, 300, 1500} {
		for _, decoded := range []bool{false, true} {
			e := envelope.Event{
				ID: "bC0m8sVqkq2nRzTQ1u5Z9e", Session: "main.http.laptop.42", Cause: "aC0m8sVqkq2nRzTQ1u5Z9e", Source: "turns/W7kq2nRz",
				Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
				Body: turnv1.Completed{
					Outcome: turnv1.Outcome{Turn: "aC0m8sVqkq2nRzTQ1u5Z9e/t"}, Answers: []string{"aC0m8sVqkq2nRzTQ1u5Z9e"}, Text: strings.Repeat("x", text),
				},
			}
			data, err := json.Marshal(e.Body)
			if err != nil {
				t.Fatal(err)
			}
			one := func(cursor uint64) recent {
				h := nats.Header(envelope.HeaderOf(e))
				h["Nats-Expected-Last-Subject-Sequence"], h["Nats-Expected-Last-Subject-Sequence-Subject"] = []string{"1"}, []string{strings.Clone(e.Subject())}
				own := append([]byte(nil), data...)
				if !decoded {
					return recent{subject: strings.Clone(e.Subject()), header: h, data: own}
				}
				ev, err := envelope.Decode(e.Subject(), envelope.Header(h), own, cursor, registry.Decode)
				if err != nil {
					t.Fatal(err)
				}
				return recent{event: ev, data: own}
			}
			before := heapAfterGC()
			r := NewRecent()
			for c := range uint64(recentEvents + 100) {
				r.put(c+1, one(c+1))
			}
			grown := heapAfterGC() - before
			if got := r.events.Bytes(); got > recentBytes || grown < got*2/3 || grown > got*4/3 {
				t.Errorf("text of %d, decoded %t: %d events of %d bytes; the heap says %d", text, decoded, r.events.Len(), got, grown)
			}
			runtime.KeepAlive(r)
		}
	}
}

func heapAfterGC() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
