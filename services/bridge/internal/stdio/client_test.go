package stdio_test

import (
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

// TestClientOfTheSDK speaks each version that clients have, many calls at a time.
func TestClientOfTheSDK(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			tr := stdio.New(stdio.Options{In: inR, Out: outW})
			server, err := (&rig{t: t}).server().Connect(t.Context(), tr, nil)
			if err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("they speak %s", got)
			}
			if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 2 {
				t.Errorf("%+v, %v", list, err)
			}
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					for j := range 25 {
						text := fmt.Sprintf("call %d of %d", j, i)
						got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoed{text}})
						if err != nil {
							t.Error(err)
							return
						}
						if out, ok := got.StructuredContent.(map[string]any); !ok || out["text"] != text {
							t.Errorf("%q came back as %+v", text, got.StructuredContent)
						}
					}
				})
			}
			all.Wait()
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if err := server.Wait(); err != nil || tr.Err() != nil {
				t.Errorf("%v, %v", err, tr.Err())
			}
		})
	}
}
