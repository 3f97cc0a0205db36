//go:build peers

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// peers is the folder with npm's packages: see the recipe test-peers.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("JETCLAW_PEERS")
	if dir == "" {
		t.Fatal("JETCLAW_PEERS is not set: run these tests by `just test-peers`")
	}
	return dir
}

// testAPI is npm's telegram-test-api: a second opinion on what a Bot API server does. It knows a few methods only, keeps no
// offset, answers polls at once, and has other words for what is wrong.
type testAPI struct {
	t   *testing.T
	url string
}

const testToken = "987654321:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"

func startTestAPI(t *testing.T) *testAPI {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	dir := peers(t)
	c := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "telegram.cjs"), port)
	c.Dir, c.Stderr = dir, os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newWatched()
	c.Stdout = out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = c.Wait()
	})
	out.waitFor(t, "ready")
	return &testAPI{t: t, url: "http://" + address}
}

// post is what its own client does.
func (a *testAPI) post(path string, body any) []byte {
	a.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	res, err := http.Post(a.url+path, "application/json", bytes.NewReader(data)) //nolint:noctx // a test
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		a.t.Fatalf("%s: HTTP %d %s %v", path, res.StatusCode, got, err)
	}
	return got
}

var peer = map[string]any{"id": 1, "first_name": "Ada", "type": "private"}

func (a *testAPI) say(text string) {
	a.t.Helper()
	a.post("/sendMessage", map[string]any{"botToken": testToken, "from": peer, "chat": peer, "date": time.Now().Unix(), "text": text})
}

// sent is a message of the bot, as it is now.
type sent struct {
	MessageID int `json:"messageId"`
	Message   struct {
		Text     string
		Entities []struct{ Type string }
		Markup   struct {
			Keyboard [][]struct {
				Text string
				Data string `json:"callback_data"`
			} `json:"inline_keyboard"`
		} `json:"reply_markup"`
	}
}

// until waits for a message of the bot that ok likes.
func (a *testAPI) until(ok func(sent) bool) sent {
	a.t.Helper()
	var all []byte
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(50 * time.Millisecond) {
		all = a.post("/getUpdatesHistory", map[string]any{"token": testToken})
		var got struct{ Result []sent }
		if err := json.Unmarshal(all, &got); err != nil {
			a.t.Fatal(err)
		}
		for _, m := range got.Result {
			if ok(m) {
				return m
			}
		}
	}
	a.t.Fatalf("not said: %s", all)
	return sent{}
}

// TestPeersTelegram has a conversation with a question in it, through a server that others have written.
func TestPeersTelegram(t *testing.T) {
	a := startTestAPI(t)
	model := newEchoing(t)
	config := fmt.Sprintf(`
models: {default: one/scripted, providers: {one: {api: openai, base_url: "%s/v1", api_key: "env:MODEL_KEY"}}}
channels: {http: {listen: off}, telegram: {peer: {token: "env:TELEGRAM_BOT_TOKEN", api_root: %q, access: allowlist, allow: [1]}}}
tools: {exec: {enabled: true, sandbox: none}}
owners: [local, "telegram:1"]
`, model.URL, a.url)
	u := newUser(t, config, "MODEL_KEY="+modelKey, "TELEGRAM_BOT_TOKEN="+testToken)
	d := u.start()
	a.say("a **bold** word")
	m := a.until(func(m sent) bool { return m.Message.Text == "you said: a bold word" })
	if len(m.Message.Entities) != 1 || m.Message.Entities[0].Type != "bold" {
		t.Errorf("%+v", m)
	}
	a.say("run " + work)
	prompt := a.until(func(m sent) bool { return strings.Contains(m.Message.Text, "may exec run?") })
	if len(prompt.Message.Markup.Keyboard) == 0 {
		t.Fatalf("no buttons: %+v", prompt)
	}
	a.post("/sendCallback", map[string]any{
		"botToken": testToken, "from": peer, "data": prompt.Message.Markup.Keyboard[0][0].Data,
		"message": map[string]any{"message_id": prompt.MessageID, "chat": peer, "date": time.Now().Unix()},
	})
	a.until(func(m sent) bool { return strings.Contains(m.Message.Text, "exit code 0") })
	a.until(func(m sent) bool { return strings.Contains(m.Message.Text, "allowed once by telegram:1") })
	a.say("/status")
	a.until(func(m sent) bool { return strings.Contains(m.Message.Text, "one/scripted") })
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
	if strings.Contains(d.stderr.String(), testToken[10:]) {
		t.Error("the token is in the log")
	}
}
