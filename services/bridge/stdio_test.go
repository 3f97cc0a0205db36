package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// wireMessage is a line that a server has written.
type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// read gives the next line of a server.
func (h *house) read(out *bufio.Scanner) (m wireMessage) {
	h.t.Helper()
	if !out.Scan() {
		h.t.Fatalf("the server has stopped: %v", out.Err())
	}
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		h.t.Fatalf("%s: %v", out.Bytes(), err)
	}
	return m
}

func (h *house) write(in io.Writer, lines ...string) {
	h.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			h.t.Fatal(err)
		}
	}
}

func callLine(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// TestStdinEndsAfterRequests: what was asked before the end of stdin is answered.
func TestStdinEndsAfterRequests(t *testing.T) {
	const n = 50
	h := newHouse(t)
	h.says(annas, "1")
	b := h.started()
	lines := []string{initialize, initialized}
	for i := range n {
		lines = append(lines, callLine(i+2, "events_poll", `{"after_cursor":0}`))
	}
	out, server := io.Pipe()
	served := make(chan error)
	go func() {
		err := b.ServeStdio(t.Context(), strings.NewReader(strings.Join(lines, "\n")), server)
		_ = server.Close()
		served <- err
	}()
	open := map[string]bool{}
	for i := range n + 1 {
		open[fmt.Sprint(i+1)] = true
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		var m wireMessage
		if err := json.Unmarshal(s.Bytes(), &m); err != nil || !open[string(m.ID)] || m.Error != nil {
			t.Errorf("%s: %v", s.Bytes(), err)
		}
		delete(open, string(m.ID))
	}
	if len(open) > 0 {
		t.Errorf("not answered: %v", open)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestStdinEndsInAWait: a client that has closed its end is not waited for.
func TestStdinEndsInAWait(t *testing.T) {
	for name, b := range map[string]*Bridge{"with a jetclaw": newHouse(t).started(), "without one": newBridge(t, nil)} {
		t.Run(name, func(t *testing.T) {
			h := &house{t: t}
			handlers := make(chan step, 8)
			watch(b, handlers)
			s := serveStdio(t.Context(), b)
			out := bufio.NewScanner(s.out)
			h.write(s.in, initialize)
			h.read(out)
			h.write(s.in, initialized, callLine(2, "events_wait", `{"timeout_ms":300000,"after_cursor":0}`))
			<-handlers
			_ = s.in.Close()
			for out.Scan() { // it may still say something
			}
			if err := <-s.served; err != nil {
				t.Error(err)
			}
		})
	}
}

var errBroken = errors.New("the disk is on fire")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestStdoutBreaks(t *testing.T) {
	b := newBridge(t, nil)
	in, client := io.Pipe()
	served := make(chan error)
	go func() { served <- b.ServeStdio(t.Context(), in, broken{}) }()
	(&house{t: t}).write(client, initialize)
	if err := <-served; !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

func TestStdinBreaks(t *testing.T) {
	b := newBridge(t, nil)
	in, client := io.Pipe()
	served := make(chan error)
	go func() { served <- b.ServeStdio(t.Context(), in, io.Discard) }()
	_ = client.CloseWithError(errBroken)
	if err := <-served; !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

// TestProcessEnds: the end of the context ends a server that waits for its client.
func TestProcessEnds(t *testing.T) {
	for _, lines := range [][]string{{}, {initialize}, {initialize, initialized, callLine(2, "events_wait", `{"after_cursor":0}`)}} {
		b := newBridge(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		s := serveStdio(ctx, b)
		out := bufio.NewScanner(s.out)
		for i, line := range lines {
			if (&house{t: t}).write(s.in, line); i == 0 {
				(&house{t: t}).read(out)
			}
		}
		cancel()
		if err := <-s.served; err != nil {
			t.Errorf("%d lines: %v", len(lines), err)
		}
	}
}

// TestStartAndStop starts and stops servers on one bridge that is attached and detached meanwhile.
func TestStartAndStop(t *testing.T) {
	h := newHouse(t)
	b := newBridge(t, nil)
	for i := range 10 {
		end := h.attach(b)
		s := serveStdio(t.Context(), b)
		out := bufio.NewScanner(s.out)
		h.write(s.in, initialize)
		h.read(out)
		if i%2 == 0 {
			end()
		}
		_ = s.in.Close()
		for out.Scan() {
		}
		if err := <-s.served; err != nil {
			t.Error(err)
		}
		end()
	}
}
