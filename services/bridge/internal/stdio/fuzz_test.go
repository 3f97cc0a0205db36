package stdio_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

// FuzzLines: whatever a client sends, what it gets is JSON-RPC, and a ping after it is answered.
func FuzzLines(f *testing.F) {
	for _, tc := range badLines {
		f.Add([]byte(tc.line))
	}
	f.Add([]byte(initialize + "\n" + callOf("1", "echo", "x") + callOf("1", "hold", "x") + callOf("1", "echo", "x")))
	f.Add([]byte(initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n[]\n\r\n{}\nnull"))
	f.Add([]byte(`{"method":"tools/call","params":{"text":"` + strings.Repeat("x", 5000) + `"},"jsonrpc":"2.0","id":8}`))
	f.Add([]byte(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n", 200)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		tr := stdio.New(stdio.Options{In: inR, Out: outW, MaxLine: 4096, MaxInFlight: 1 << 20})
		session, err := (&rig{t: t, release: make(chan struct{}), onNote: func() {}}).server().Connect(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		id := `"end` + strings.Repeat("x", strings.Count(string(data), "end")) + `"`
		for strings.Contains(string(data), id) {
			id = `"x` + id[1:]
		}
		go func() {
			_, _ = inW.Write(data)
			_, _ = io.WriteString(inW, "\n"+`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`+"\n")
		}()
		out := bufio.NewScanner(outR)
		out.Buffer(nil, 16<<20)
		for answered := false; !answered; {
			if !out.Scan() {
				t.Fatalf("the server has stopped: %v, %v", out.Err(), tr.Err())
			}
			got, err := decode(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if answered = string(got.ID) == id; answered && got.Error != nil {
				t.Fatalf("the ping: %+v", got.Error)
			}
		}
		go func() { _, _ = io.Copy(io.Discard, outR) }()
		_ = inW.Close()
		if err := session.Wait(); err != nil && !errors.Is(err, mcp.ErrConnectionClosed) || tr.Err() != nil {
			t.Fatalf("%v, %v", err, tr.Err())
		}
	})
}
