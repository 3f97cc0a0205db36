package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// freeAddress is one that nobody listens on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func httpYAML(address string) string {
	return fmt.Sprintf("channels: {http: {listen: %q}}\n", address)
}

// call asks the HTTP API with the home's token.
func (u *user) call(method, url, body string, into any) int {
	u.t.Helper()
	token, err := os.ReadFile(filepath.Join(u.home, "keys", "http.token"))
	if err != nil {
		u.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(u.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		u.t.Fatalf("%s: %v", data, err)
	}
	return res.StatusCode
}

type receipt struct {
	MessageID string `json:"message_id"`
}

type reply struct {
	Status string `json:"status"`
	Text   string `json:"text"`
}

func TestDaemon(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	d := u.start()

	var got receipt
	if code := u.call("POST", "http://"+address+"/v1/messages", `{"session":"a","text":"hi"}`, &got); code != http.StatusAccepted {
		t.Fatalf("HTTP %d", code)
	}
	var answer reply
	u.call("GET", "http://"+address+"/v1/messages/"+got.MessageID+"/reply?wait=20s", "", &answer)
	if answer.Status != "completed" || !strings.HasPrefix(answer.Text, `You said: "hi"`) {
		t.Errorf("%+v", answer)
	}

	r := u.run("chat", "hello")
	r.want(t, 0, fmt.Sprintf("model: offline/echo (built in: it only repeats what it is told), by process %d", d.cmd.Process.Pid))
	if !strings.HasPrefix(r.stdout, `You said: "hello"`) {
		t.Errorf("stdout %q", r.stdout)
	}
	if got, want := types(u.journal("--session", "main.http.default.a")), aTurn(); !slices.Equal(got, want) {
		t.Errorf("journal %q", got)
	}
	u.run("run").want(t, 12, fmt.Sprintf("process %d (jetclaw run) is using %s", d.cmd.Process.Pid, u.home), "JETCLAW_HOME=DIR")

	follow := u.command("events", "--follow")
	out := newWatched()
	follow.Stdout = out
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	out.waitFor(t, "delivery.sent")
	u.run("chat", "followed").want(t, 0)
	out.waitFor(t, "local: followed")
	if err := follow.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(t, follow.Wait()); code != 0 {
		t.Errorf("events --follow ends with %d", code)
	}

	if code := d.stop(); code != 0 {
		t.Errorf("SIGTERM: exit %d\n%s", code, d.stderr)
	}
	if _, err := os.Stat(filepath.Join(u.home, "run", "endpoint.json")); !os.IsNotExist(err) {
		t.Errorf("the endpoint is still there: %v", err)
	}
	if n := len(u.journal()); n != 12 { // and the journal can be read without a daemon
		t.Errorf("%d events", n)
	}
}

// TestKilled kills the daemon while the model speaks. The next one answers.
func TestKilled(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	d := u.start()
	var got receipt
	u.call("POST", "http://"+address+"/v1/messages", `{"session":"a","text":"hold on","idempotency_key":"1"}`, &got)
	<-model.began
	d.kill()
	close(model.hold)
	d = u.start()
	var answer reply
	u.call("GET", "http://"+address+"/v1/messages/"+got.MessageID+"/reply?wait=30s", "", &answer)
	if answer.Status != "completed" || answer.Text != "re: hold on" {
		t.Errorf("%+v", answer)
	}
	var again receipt
	u.call("POST", "http://"+address+"/v1/messages", `{"session":"a","text":"hold on","idempotency_key":"1"}`, &again)
	if again != got {
		t.Errorf("the same key again: %+v, then %+v", got, again)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	want := []string{"message.received.v1", "turn.started.v1", "turn.resumed.v1", "turn.completed.v1", "delivery.sent.v1"}
	if got := types(u.journal()); !slices.Equal(got, want) {
		t.Errorf("journal %q", got)
	}
}

// TestTargets runs the server, the doors and two workers as processes of their own, and kills the worker that has the turn.
func TestTargets(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "channels: {http: {listen: \"off\"}}\n", model.env()...)
	u.run("run", "--target", "turns").want(t, exitStore, "jetclaw run --target nats")
	u.run("run", "--target", "nats,turns", "--nats", "nats://127.0.0.1:1").want(t, exitUsage, "leave one of them out")
	u.start("--target", "nats")
	u.start("--target", "intake,outbox")
	first := u.start("--target", "turns")
	chat := u.command("chat", "hold on")
	out := newWatched()
	chat.Stdout = out
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	<-model.began
	second := u.start("--target", "turns")
	first.kill()
	close(model.hold)
	if code := codeOf(t, chat.Wait()); code != 0 || out.String() != "re: hold on\n" {
		t.Errorf("exit %d: %s", code, out)
	}
	if code := second.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address := l.Addr().String()
	u := newUser(t, offlineYAML+httpYAML(address))
	u.run("run").want(t, 1, address, "taken")
	u = newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n"+fmt.Sprintf("bus: {listen: %q}\n", address))
	u.run("run").want(t, 1, address, fmt.Sprint(os.Getpid()), "bus.listen")
}
