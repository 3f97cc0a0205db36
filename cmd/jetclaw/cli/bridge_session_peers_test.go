//go:build peers

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tsSession is one session of a client that is made with the TypeScript SDK: loadtest/peers/mcp/session.mjs.
type tsSession struct {
	t     *testing.T
	stdin io.WriteCloser
	ended chan error

	mu      sync.Mutex
	last    int                     // guarded by mu
	waiting map[int]chan<- tsAnswer // guarded by mu; by the id of the call
}

type tsAnswer struct {
	ID     int
	Server *struct{ Name string }
	Error  string
	Result *struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
}

func (u *user) session(at served) *tsSession {
	u.t.Helper()
	dir := filepath.Join(peers(u.t), "mcp")
	args := []string{filepath.Join(dir, "session.mjs")}
	if at.url != "" {
		args = append(args, "http", at.url, at.token)
	} else {
		args = append(append(args, "stdio"), at.command...)
	}
	c := exec.CommandContext(u.t.Context(), filepath.Join(dir, "node_modules", ".bin", "node"), args...)
	c.Env, c.Stderr = u.env, u.t.Output()
	stdin, err := c.StdinPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	s := &tsSession{t: u.t, stdin: stdin, ended: make(chan error, 1), waiting: map[int]chan<- tsAnswer{}}
	connected := make(chan tsAnswer, 1)
	s.waiting[0] = connected // the line that says that it is connected has no id
	if err := c.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() {
		s.read(stdout)
		s.ended <- c.Wait()
	}()
	if a := s.await(connected); a.Server == nil || a.Server.Name != "jetclaw" {
		u.t.Fatalf("%+v", a)
	}
	return s
}

// read gives each answer to who waits for it. When there are no more, nobody gets one.
func (s *tsSession) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a tsAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			s.t.Errorf("%v: %s", err, lines.Bytes())
			continue
		}
		s.mu.Lock()
		if c := s.waiting[a.ID]; c != nil {
			c <- a
		}
		delete(s.waiting, a.ID)
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.waiting {
		close(c)
	}
	clear(s.waiting)
}

func (s *tsSession) await(c <-chan tsAnswer) tsAnswer {
	s.t.Helper()
	limit := time.NewTimer(2 * patience)
	defer limit.Stop()
	select {
	case a, ok := <-c:
		if !ok {
			s.t.Fatal("the session has ended")
		}
		return a
	case <-limit.C:
		s.t.Fatal("no answer in time")
	}
	return tsAnswer{}
}

// begin calls a tool, and end takes the structured result when it is there.
func (s *tsSession) begin(tool string, args map[string]any) (end func(into any)) {
	s.t.Helper()
	c := make(chan tsAnswer, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.waiting[id] = c
	s.mu.Unlock()
	line, err := json.Marshal(map[string]any{"id": id, "tool": tool, "arguments": args})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.stdin.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
	return func(into any) {
		s.t.Helper()
		a := s.await(c)
		if a.Error != "" || a.Result == nil || a.Result.IsError {
			s.t.Fatalf("%s: %s %+v", tool, a.Error, a.Result)
		}
		if err := json.Unmarshal(a.Result.StructuredContent, into); err != nil {
			s.t.Fatalf("%s: %v: %s", tool, err, a.Result.StructuredContent)
		}
	}
}

func (s *tsSession) end() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Fatal(err)
	}
	if err := <-s.ended; err != nil {
		s.t.Errorf("the client: %v", err)
	}
}

// saidIn is what events tell of who has said what, without what the offline model says of itself.
func saidIn(events []bridgeEvent) (out []string) {
	for _, e := range events {
		text, _, _ := strings.Cut(e.Text, "\n")
		out = append(out, e.Type+" "+e.Role+" "+strings.TrimSuffix(text, " (offline model)"))
	}
	return out
}

// exchange is what saidIn gives of a message to the offline model.
func exchange(text string) []string {
	return []string{"message user " + text, fmt.Sprintf("message assistant You said: %q", text)}
}

// TestPeersMCPServeRestart kills the daemon under a client that holds one session, which goes on with nothing missed and nothing
// told twice.
func TestPeersMCPServeRestart(t *testing.T) {
	for _, transport := range []string{overStdio, overHTTP} {
		t.Run(transport, func(t *testing.T) {
			u := newUser(t, offlineYAML+"channels: {http: {listen: off}}\n")
			d := u.start()
			u.run("chat", "before").want(t, exitOK)
			s := u.session(u.serve(transport))
			var page bridgePage
			s.begin("events_poll", map[string]any{"after_cursor": 0})(&page)
			equal(t, saidIn(page.Events), exchange("before"))

			// One waits from before the end of the daemon, for the first message that the next one takes.
			var first struct{ Event *bridgeEvent }
			end := s.begin("events_wait", map[string]any{"after_cursor": page.Next})
			d.kill()
			d = u.start()
			var want, got []string
			for i := range 7 {
				text := fmt.Sprintf("message %d", i)
				u.run("chat", "--session", fmt.Sprint("s", i%2), text).want(t, exitOK)
				want = append(want, exchange(text)...)
			}
			for more := true; more; more = page.More {
				after := page.Next
				page = bridgePage{}
				s.begin("events_poll", map[string]any{"after_cursor": after, "limit": 5})(&page)
				got = append(got, saidIn(page.Events)...)
				if len(page.Events) > 5 || page.Gap != nil {
					t.Errorf("%+v", page)
				}
			}
			equal(t, got, want)
			end(&first)
			if first.Event == nil || first.Event.Text != "message 0" {
				t.Errorf("waited for %+v", first.Event)
			}

			var next struct {
				Event *bridgeEvent
				Next  uint64 `json:"next_cursor"`
			}
			end = s.begin("events_wait", map[string]any{"after_cursor": page.Next})
			u.run("chat", "one more").want(t, exitOK)
			end(&next)
			if next.Event == nil || next.Event.Text != "one more" || next.Event.Cursor <= page.Next || next.Next != next.Event.Cursor {
				t.Errorf("%+v, %+v", next.Event, next)
			}
			s.end()
			if code := d.stop(); code != 0 {
				t.Errorf("exit %d\n%s", code, d.stderr)
			}
			if transport == overStdio {
				noneLeft(t, bridgeCommand())
			}
		})
	}
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
