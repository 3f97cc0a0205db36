package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jetclaw/jetclaw/services/approvals"
)

// house is a home with a scripted model, a shell for its agent, and an HTTP API that a person uses.
type house struct {
	*user
	model   *scripted
	address string
}

// modelKey is the key of the model in every house.
const modelKey = "sk-house-5f0c7d21e9b84c63"

func newHouse(t *testing.T, more string) *house {
	t.Helper()
	h := &house{model: newScripted(t), address: freeAddress(t)}
	h.user = newUser(t, h.config(more), "MODEL_KEY="+modelKey)
	return h
}

// config is a configuration with more sections.
func (h *house) config(more string) string {
	return fmt.Sprintf(`
models: {default: one/scripted, providers: {one: {api: openai, base_url: "%s/one/v1", api_key: "env:MODEL_KEY"}}}
channels: {http: {listen: %q}}
tools: {exec: {enabled: true}, web_search: {provider: brave, url: %q, key: "env:MODEL_KEY"}}
`, h.model.URL, h.address, h.model.URL) + more
}

// api asks the HTTP API with the home's token, on a connection of its own: the daemon before may have been killed.
func (h *house) api(method, path, body string, into any) int {
	h.t.Helper()
	token, err := os.ReadFile(filepath.Join(h.home, "keys", "http.token"))
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.address+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		h.t.Fatalf("%s %s: HTTP %d: %v", method, path, res.StatusCode, err)
	}
	return res.StatusCode
}

// say sends a message to the session "a" and returns its id.
func (h *house) say(text string) string {
	h.t.Helper()
	body, err := json.Marshal(map[string]string{"session": "a", "text": text})
	if err != nil {
		h.t.Fatal(err)
	}
	var got receipt
	if code := h.api("POST", "/v1/messages", string(body), &got); code != http.StatusAccepted {
		h.t.Fatalf("HTTP %d", code)
	}
	return got.MessageID
}

// theSession is the session "a" by its whole name.
const theSession = "main.http.default.a"

// outcome is what became of a message.
type outcome struct {
	Status    string `json:"status"`
	Text      string `json:"text"`
	Approvals []struct {
		ID      string    `json:"id"`
		Expires time.Time `json:"expires"`
		Text    string    `json:"text"`
	} `json:"approvals"`
}

// reply waits for the end of a message.
func (h *house) reply(id string) outcome {
	h.t.Helper()
	var o outcome
	h.api("GET", "/v1/messages/"+id+"/reply?until=answer&wait="+patience.String(), "", &o)
	return o
}

// parked waits until a message's turn asks a person, and returns the approval.
func (h *house) parked(id string) (approval string) {
	h.t.Helper()
	var o outcome
	h.api("GET", "/v1/messages/"+id+"/reply?wait="+patience.String(), "", &o)
	if o.Status != "awaiting_approval" || len(o.Approvals) != 1 {
		h.t.Fatalf("nobody is asked: %+v", o)
	}
	return o.Approvals[0].ID
}

// want fails the test unless a message was answered so.
func (o outcome) want(t *testing.T, status string, parts ...string) {
	t.Helper()
	if o.Status != status {
		t.Errorf("status %q, want %q: %s", o.Status, status, o.Text)
	}
	for _, part := range parts {
		if !strings.Contains(o.Text, part) {
			t.Errorf("it is not told %q: %s", part, o.Text)
		}
	}
}

// list is `approvals list --json`.
func (h *house) list(args ...string) []approvals.View {
	h.t.Helper()
	r := h.run(append([]string{"approvals", "list", "--json"}, args...)...)
	r.want(h.t, 0)
	var l approvals.List
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil {
		h.t.Fatalf("%s: %v", r.stdout, err)
	}
	return l.Approvals
}

// exec is a script of one command.
func execLine(command string) string {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return "exec " + string(args)
}

// work is a command that leaves a line each time it runs.
const work = "echo ran >> ran.txt"

// wantRuns fails the test unless work was done so often.
func (h *house) wantRuns(n int) {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.home, "workspace", "ran.txt"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	if got := strings.Count(string(data), "ran\n"); got != n || len(data) != len("ran\n")*n {
		h.t.Errorf("it ran %d times, want %d: %q", got, n, data)
	}
}

// wantEvents fails the test unless the journal has so many of each type.
func (h *house) wantEvents(want map[string]int) {
	h.t.Helper()
	got := map[string]int{}
	for _, e := range h.journal("--session", theSession) {
		got[e.Type]++
	}
	for name, n := range want {
		if got[name] != n {
			h.t.Errorf("%d of %s, want %d; the journal has %v", got[name], name, n, got)
		}
	}
}

// bell is a pipe in the workspace that a command rings: `echo >bell`. It returns what waits for that.
func (h *house) bell() (rung func()) {
	h.t.Helper()
	path := filepath.Join(h.home, "workspace", "bell")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		h.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0) // for writing, too: no end of it comes with a writer's
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { f.Close() })
	return func() {
		h.t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
			h.t.Fatal(err)
		}
		if _, err := f.Read(make([]byte, 1)); err != nil {
			h.t.Fatalf("the command has not begun: %v", err)
		}
	}
}
