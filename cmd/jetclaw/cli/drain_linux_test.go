package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// term asks a process to stop, and waits until it says that it is about to. It lives meanwhile.
func (m monitored) term() {
	m.t.Helper()
	m.readyz(http.StatusOK)
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Fatal(err)
	}
	m.until("/readyz", func(status int, body string) bool {
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"draining":true`)
	})
	if status, _ := m.get("/healthz"); status != http.StatusOK {
		m.t.Errorf("while it drains /healthz is HTTP %d", status)
	}
}

// ends wants a process that was asked to stop to end in order.
func (m monitored) ends() {
	m.t.Helper()
	if code := codeOf(m.t, <-m.ended); code != 0 {
		m.t.Errorf("exit %d\n%s", code, m.stderr)
	}
}

// TestTurnsDrain: a turn that runs comes to its end where it runs, and nothing new is begun there.
func TestTurnsDrain(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	u.start("--target", "nats")
	u.start("--target", "intake,outbox")
	first := u.watch("turns")
	held := u.post(address, "a", "hold on")
	<-model.began
	first.term()
	other := u.post(address, "b", "who is there")
	second := u.watch("turns")
	if got := u.answer(address, other); got != "re: who is there" {
		t.Errorf("beside one that drains: %q", got)
	}
	close(model.hold)
	if got := u.answer(address, held); got != "re: hold on" {
		t.Errorf("what ran: %q", got)
	}
	first.ends()
	workers := map[string]string{}
	for _, e := range u.journal() {
		if e.Type == "turn.started.v1" {
			workers[string(e.Session)] = field(e, "worker")
		}
		if e.Type == "turn.resumed.v1" {
			t.Error("a turn was taken over from one that drains")
		}
	}
	if len(workers) != 2 || workers["main.http.default.a"] == workers["main.http.default.b"] {
		t.Errorf("the new turn was begun by %v", workers)
	}
	if code := second.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestTurnsAreHandedBack: a model call that does not end in the time to drain is somebody else's at once.
func TestTurnsAreHandedBack(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	u.start("--target", "nats")
	u.start("--target", "intake,outbox")
	first := u.watch("turns")
	held := u.post(address, "a", "hold on")
	<-model.began
	began := time.Now()
	first.term()
	second := u.watch("turns")
	first.ends()
	if took := time.Since(began); took > 22*time.Second { // lifecycle.DefaultOptions
		t.Errorf("it ends after %s", took)
	}
	<-model.began // the other one asks
	close(model.hold)
	if got := u.answer(address, held); got != "re: hold on" {
		t.Errorf("%q", got)
	}
	want := []string{"message.received.v1", "turn.started.v1", "turn.resumed.v1", "turn.completed.v1", "delivery.sent.v1"}
	if got := types(u.journal()); !slices.Equal(got, want) {
		t.Errorf("journal %q", got)
	}
	if code := second.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestOutboxDrains: a delivery that is under way is told to the journal, and is not made twice.
func TestOutboxDrains(t *testing.T) {
	t.Parallel()
	began, hold := make(chan struct{}, 16), make(chan struct{})
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- struct{}{}
		<-hold
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(callback.Close)
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, fmt.Sprintf("channels: {http: {listen: %q, callback: {url: %q}}}\n", address, callback.URL), model.env()...)
	u.start("--target", "nats")
	u.start("--target", "intake,turns")
	first := u.watch("outbox")
	u.post(address, "a", "hi")
	<-began
	first.term()
	close(hold)
	first.ends()
	if got := types(u.journal()); got[len(got)-1] != "delivery.sent.v1" {
		t.Errorf("journal %q", got)
	}
	// The next one has nothing to do again; what comes now is its own.
	second := u.watch("outbox")
	u.post(address, "a", "hi again")
	<-began
	if code := second.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if len(began) > 0 {
		t.Error("something was delivered twice")
	}
}

// TestIntakeDrains: who waits for an answer is told how far it is, new requests find nobody, and what was taken in is answered by
// the next one.
func TestIntakeDrains(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	u.start("--target", "nats")
	u.start("--target", "turns,outbox")
	first := u.watch("intake")
	held := u.post(address, "a", "hold on")
	<-model.began
	sent, asked := make(chan struct{}), make(chan string, 1)
	go func() { asked <- u.wait(address, held, sent) }()
	<-sent
	first.readyz(http.StatusOK)
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; !strings.Contains(got, `"status":"pending"`) {
		t.Errorf("who waits is told %s", got)
	}
	first.ends()
	second := u.watch("intake")
	close(model.hold)
	if got := u.answer(address, held); got != "re: hold on" {
		t.Errorf("%q", got)
	}
	if code := second.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestMCPDrains: a call of a server that is under way comes to its end, and its server is ended with the process.
func TestMCPDrains(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t, httpYAML(address)+fmt.Sprintf("mcp: {servers: {slow: {command: %q, approval: approve, env: {%s: holds, FAKE_DIR: %q}}}}\n",
		self, fakeMCPMode, dir), model.env()...)
	u.start("--target", "nats")
	u.start("--target", "intake,outbox,turns,tools,approvals")
	first := u.watch("mcp")
	u.run("mcp", "probe", "slow").want(t, 0)
	u.post(address, "a", "call slow__hold {}")
	waitFile(t, filepath.Join(dir, "began"))
	first.term()
	if err := os.WriteFile(filepath.Join(dir, "release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.ends()
	var outcome string
	for _, e := range u.journal("--session", "main.http.default.a") {
		if strings.HasPrefix(e.Type, "call.completed") {
			outcome = field(e, "outcome") + " " + field(e, "content")
		}
	}
	if outcome != "ok held" {
		t.Errorf("the call: %q", outcome)
	}
	waitFile(t, filepath.Join(dir, "ended"))
}

// wait asks for a reply, with a patience that outlives any process, and tells when the question is on its way.
func (u *user) wait(address, message string, sent chan<- struct{}) string {
	token, err := os.ReadFile(filepath.Join(u.home, "keys", "http.token"))
	if err != nil {
		return err.Error()
	}
	ctx := httptrace.WithClientTrace(u.t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/messages/"+message+"/reply?wait=2m", http.NoBody)
	if err != nil {
		return err.Error()
	}
	req.Close = true
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// waitFile waits for what another process writes.
func waitFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come", path)
		}
	}
}

// field is one of an event's data.
func field(e envelope.Line, name string) string {
	data, _ := e.Data.(map[string]any)
	return fmt.Sprint(data[name])
}

// post sends a message to a session over HTTP, and returns its id.
func (u *user) post(address, session, text string) string {
	u.t.Helper()
	body, err := json.Marshal(map[string]string{"session": session, "text": text})
	if err != nil {
		u.t.Fatal(err)
	}
	var got receipt
	if code := u.call("POST", "http://"+address+"/v1/messages", string(body), &got); code != http.StatusAccepted {
		u.t.Fatalf("HTTP %d", code)
	}
	return got.MessageID
}

// answer waits for what became of a message.
func (u *user) answer(address, message string) string {
	u.t.Helper()
	var r reply
	u.call("GET", "http://"+address+"/v1/messages/"+message+"/reply?wait="+patience.String(), "", &r)
	return r.Text
}
