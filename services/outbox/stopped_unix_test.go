//go:build unix

package outbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/outbox"
)

// process starts a child that works on the house's bus. It is killed with the test.
func (h *house) process(t *testing.T, hook string) *os.Process {
	t.Helper()
	told, err := json.Marshal(order{URL: h.bus.URL(), Seed: string(h.bus.Seed("outbox")), Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(told))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})
	return cmd.Process
}

func signal(t *testing.T, p *os.Process, s os.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Error(err)
	}
}

// TestPushStoppedProcess: a process stands still in the middle of a call and goes on, while another worker is there. When
// it was away for little more than AckWait nothing happens twice; when it was away for so long that the other one had to
// take over, the repeat is recorded and marked, and there is one outcome.
func TestPushStoppedProcess(t *testing.T) {
	t.Parallel() // they wait for clocks
	for name, c := range map[string]struct {
		away time.Duration
		want []string
	}{
		"for little more than AckWait": {bus.AckWait + 2*time.Second, []string{"started a/1", "sent a/1", "started b/1", "sent b/1"}},
		"until it counts as dead": {0, []string{
			"started a/1", "unknown a/1", "started a/2 repeat", "sent a/2", "started b/1", "sent b/1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			var p *os.Process
			arrived, reply := make(chan struct{}), make(chan struct{})
			hook := newHook(t, func(n int, _ call, w http.ResponseWriter) {
				if n == 1 {
					signal(t, p, syscall.SIGSTOP)
					close(arrived)
					<-reply
				}
				_, _ = io.WriteString(w, "ok")
			})
			p = h.process(t, hook.url)
			h.show(t, web, "a", answer("a"))
			<-arrived
			other := h.run(t, pushing(t, hook))
			h.show(t, web, "b", answer("b"))
			if c.away > 0 {
				<-time.After(c.away)
			} else {
				h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 2 })
			}
			close(reply)
			signal(t, p, syscall.SIGCONT)
			h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 2 })
			// The process is alone now: what it still had to say of the call is said before this is over.
			other.stop()
			h.show(t, "main.http.web.other", "c", answer("c"))
			events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 3 })
			expect(t, deliveries(t, events, web), c.want...)
			var calls []string
			for _, k := range hook.got() {
				calls = append(calls, fmt.Sprintf("%s/%d %t", k.Delivery, k.Attempt, k.Repeat))
			}
			var started []string
			for _, e := range deliveries(t, events, web) {
				if ref, ok := strings.CutPrefix(e, "started "); ok {
					ref, repeat := strings.CutSuffix(ref, " repeat")
					started = append(started, fmt.Sprintf("%s %t", ref, repeat))
				}
			}
			expect(t, calls, append(started, "c/1 false")...)
		})
	}
}

// TestMailboxStoppedProcess: a mailbox is nobody's call: what a process that stands still held is done by another.
func TestMailboxStoppedProcess(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.process(t, "")
	var want []string
	show := func(from, to int) {
		for i := from; i < to; i++ {
			id := fmt.Sprint("m", i)
			h.show(t, web, id, answer(id))
			want = append(want, "sent "+id+"/1")
		}
	}
	show(0, 5)
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") > 0 })
	show(5, 25)
	signal(t, p, syscall.SIGSTOP)
	h.run(t, outbox.Config{})
	show(25, 30)
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 30 })
	signal(t, p, syscall.SIGCONT)
	show(30, 60)
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") >= 60 })
	if got := deliveries(t, events, web); !slices.Equal(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}
