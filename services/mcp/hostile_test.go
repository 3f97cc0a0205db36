package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// hostile begins the arguments of a copy of the test program that is no good server.
const hostile = "--hostile="

// behave is what it does.
func behave(kind string) {
	switch kind {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot start: the licence "+canary+" has expired")
		os.Exit(3)
	case "garbage":
		for range 1000 {
			fmt.Println("Server listening on port 3000! {not json")
		}
	case "silent":
		select {}
	case "deaf": // it ignores the end of its input and SIGTERM, and has started others
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done")
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := child.Start(); err != nil {
			os.Exit(4)
		}
		defer func() { select {} }()
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		if dir, ok := strings.CutPrefix(kind, "second:"); ok && r.Method == "tools/list" && claim(dir) == 1 {
			continue
		}
		fmt.Println(answer(kind, r.Method, string(r.ID)))
	}
}

// claim counts what the processes of a hostile server have got up to, in a folder.
func claim(dir string) (n int) {
	for os.Mkdir(claimed(dir, n), 0o700) != nil {
		n++
	}
	return n
}

func claimed(dir string, n int) string { return fmt.Sprintf("%s/claim-%d", dir, n) }

// answer is the line that a hostile server says to a request.
func answer(kind, method, id string) string {
	ok := func(result string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result) }
	switch method {
	case "initialize":
		return ok(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`)
	case "tools/list":
		return ok(`{"tools":[` + strings.Join(listed(kind), ",") + `]}`)
	case "tools/call":
		switch kind {
		case "huge":
			return ok(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + `"}]}`)
		case "storm":
			return strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 1000) + ok(`{"content":[]}`)
		}
		return ok(`{"content":[{"type":"text","text":"fine"}]}`)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s"}}`, id, method)
}

// listed are the tools of a hostile server.
func listed(kind string) []string {
	one := func(name, schema string) string { return fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema) }
	all := []string{one("t", `{"type":"object"}`)}
	switch kind {
	case "many":
		for i := range 5000 {
			all = append(all, one(fmt.Sprintf("tool_%04d", i), `{"type":"object"}`))
		}
	case "schemas":
		all = append(all,
			one("lookahead", `{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)y"}}}`),
			one("cycle", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/a"}}}}}`),
			one("old", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"integer"}}}`),
			one("none", `null`), one("text", `"object"`),
			`{"name":12,"inputSchema":{}}`, `"tool"`)
	}
	return all
}

// TestHostileServers: whatever a server does, another one works beside it, and nothing is left of either.
func TestHostileServers(t *testing.T) {
	h := newHouse(t)
	servers := map[string]definition.Definition{"good": h.fake(), "gone": {Command: "no-such-program-anywhere"}}
	kinds := []string{"exit", "garbage", "silent", "deaf", "many", "huge", "storm", "schemas"}
	for _, kind := range kinds {
		d := h.fake()
		d.Args, d.ConnectionTimeoutMs = []string{hostile + kind}, 4000
		servers[kind] = d
	}
	h.configure(servers)
	h.start()
	for i := range 3 {
		if got := h.run(somebody, h.dispatched("good", "echo", fmt.Sprintf(`{"text":"%d"}`, i))); got.Content != fmt.Sprint(i) {
			t.Fatalf("%+v", got)
		}
	}
	for kind, want := range map[string]callv1.Outcome{
		"garbage": callv1.OK, "deaf": callv1.OK, "storm": callv1.OK, "many": callv1.OK, "schemas": callv1.OK, "huge": callv1.Unknown,
	} {
		if got := h.run(somebody, h.dispatched(kind, "t", `{}`)); got.Outcome != want {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	for _, tool := range []string{"lookahead", "cycle", "old", "none", "text"} {
		if got := h.run(somebody, h.dispatched("schemas", tool, `{}`)); got.Outcome != callv1.OK || got.Content != "fine" {
			t.Errorf("a schema %s: %+v", tool, got)
		}
	}
	if c, _ := h.catalogue("many"); len(c.Tools) < 100 || len(c.Tools) > 1000 {
		t.Errorf("of 5,000 tools %d are on offer", len(c.Tools))
	}
	for kind, want := range map[string]string{"exit": "exited with status 3", "silent": "no answer within", "gone": "not found"} {
		h.until(kind+" says why", func() bool { return strings.Contains(h.status(kind).LastError, want) })
		if st := h.status(kind); strings.Contains(st.LastError+st.Stderr, canary) {
			t.Errorf("%s: a secret is told: %+v", kind, st)
		}
	}
	if got := h.run(another, h.dispatched("good", "echo", `{"text":"still"}`)); got.Content != "still" {
		t.Errorf("%+v", got)
	}
	h.stop()
	if left := h.marked(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
