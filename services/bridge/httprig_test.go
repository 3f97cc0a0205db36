package bridge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	tokenA = "a-token-of-one-client"
	tokenB = "a-token-of-another-one"
	newest = "2026-07-28"
	older  = "2025-11-25"
)

// web is a bridge that is served over HTTP, guard included.
type web struct {
	h      *house
	addr   string
	tokens string // the file
	stop   func() // ends it, and waits for that
	client *http.Client
}

func (h *house) serveHTTP(b *Bridge, hosts ...string) *web {
	h.t.Helper()
	w := &web{h: h, tokens: filepath.Join(h.t.TempDir(), "mcp.token")}
	w.allow("one " + tokenA + "\nother " + tokenB + "\n")
	l, err := (&net.ListenConfig{}).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	w.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- b.ServeHTTP(ctx, l, HTTPConfig{Listen: w.addr, Hosts: hosts, Tokens: w.tokens}) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 1}
	w.client = &http.Client{Transport: transport}
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-served; err != nil {
			h.t.Errorf("serve: %v", err)
		}
		transport.CloseIdleConnections()
	}
	h.t.Cleanup(w.stop)
	return w
}

// allow writes the file of tokens anew.
func (w *web) allow(tokens string) {
	w.h.t.Helper()
	if err := os.WriteFile(w.tokens, []byte(tokens), 0o600); err != nil {
		w.h.t.Fatal(err)
	}
}

// ask is a request as it should be, but for what change does to it.
func (w *web) ask(ctx context.Context, body string, change func(*http.Request)) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.addr+Endpoint, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+tokenA)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if change != nil {
		change(r)
	}
	return w.client.Do(r)
}

// answer is ask with the whole answer.
func (w *web) answer(body string, change func(*http.Request)) (status int, text string, header http.Header) {
	w.h.t.Helper()
	res, err := w.ask(w.h.t.Context(), body, change)
	if err != nil {
		w.h.t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, res.Body); err != nil {
		w.h.t.Fatal(err)
	}
	return res.StatusCode, b.String(), res.Header
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"by hand","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// open begins a session and gives its id.
func (w *web) open(token string) string {
	w.h.t.Helper()
	status, text, header := w.answer(initialize, with1("Authorization", "Bearer "+token))
	id := header.Get(idHeader)
	if status != http.StatusOK || id == "" {
		w.h.t.Fatalf("initialize: %d %s", status, text)
	}
	return id
}

// with1 sets a header.
func with1(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func withAll(changes ...func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		for _, change := range changes {
			change(r)
		}
	}
}

// toolCall is a call of a tool by hand; of the newest version, where nothing went before it.
func toolCall(tool, arguments string, change ...func(*http.Request)) (body string, headers func(*http.Request)) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"by hand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s"name":%q,"arguments":%s}}`, meta, tool, arguments)
	return body, withAll(append([]func(*http.Request){
		with1(eraHeader, newest), with1("Mcp-Method", "tools/call"), with1("Mcp-Name", tool),
	}, change...)...)
}

// sessionCall is one of the older version, in a session of its own.
func (w *web) sessionCall(tool, arguments string) (body string, headers func(*http.Request)) {
	w.h.t.Helper()
	headers = withAll(with1(eraHeader, older), with1(idHeader, w.open(tokenA)))
	if status, text, _ := w.answer(initialized, headers); status != http.StatusAccepted {
		w.h.t.Fatalf("initialized: %d %s", status, text)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), headers
}

// bearer adds a token to what a client of the SDK sends.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// connect is the SDK's client of a version of the protocol.
func (w *web) connect(version, token string) *mcp.ClientSession {
	w.h.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := c.Connect(w.h.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + w.addr + Endpoint, HTTPClient: &http.Client{Transport: bearer{token, w.client.Transport}}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.h.t.Fatal(err)
	}
	w.h.t.Cleanup(func() { _ = cs.Close() }) // by then the server may have ended
	return cs
}
