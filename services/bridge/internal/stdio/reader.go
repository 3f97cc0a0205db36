package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxNotes     = 64      // notifications that the SDK is given before it has to say that it has handled them
	maxNoteBytes = 1 << 20 // or so many bytes of them
)

// syncID is the id of the reader's own ping; a client cannot use it.
var syncID = func() jsonrpc.ID {
	id, err := jsonrpc.MakeID("jetclaw/sync")
	if err != nil {
		panic(err) // a string is an id
	}
	return id
}()

// read is the reader: it takes lines until there are no more, or nobody wants them.
func (t *Transport) read() {
	src := newLines(t.in, t.maxLine)
	notes := unhandled{t: t}
	for {
		l, err := src.next()
		if errors.Is(err, io.EOF) {
			t.hangUp() // before the last line is looked at: nobody may be there to be told
		}
		if !t.take(l, &notes) {
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			t.linger()
			t.end(nil)
			return
		case err != nil:
			t.end(fmt.Errorf("read from the client: %w", err))
			return
		}
	}
}

// linger lets what was asked before the end of stdin be answered, for a while: the SDK would cancel it.
func (t *Transport) linger() {
	timer := time.NewTimer(t.lingers)
	defer timer.Stop()
	select {
	case <-t.flights.landed():
	case <-timer.C:
	case <-t.closed:
	}
}

// take deals with one line; false: it is over.
func (t *Transport) take(l line, notes *unhandled) bool {
	if l.long {
		return t.refuse(refuse(jsonrpc.CodeInvalidRequest, "the line is longer than %d bytes", t.maxLine).withID(recoverID(l.head, l.tail)))
	}
	if len(bytes.TrimLeft(l.data, " \t\r")) == 0 {
		return true
	}
	m, bad := parse(l.data)
	if bad != nil {
		return t.refuse(bad)
	}
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			return t.call(m, len(l.data))
		}
		if t.onNote(m.Method, m.Params) {
			return true
		}
		return t.forward(m) && notes.add(len(l.data))
	case *jsonrpc.Response:
		return t.forward(m)
	}
	t.log.Debug("dropped a response that is none")
	return true
}

func (t *Transport) call(m *jsonrpc.Request, size int) bool {
	id, err := json.Marshal(m.ID.Raw())
	switch {
	case err != nil: // a string or a number
		return t.refuse(refuse(jsonrpc.CodeInternalError, "%v", err))
	case t.flights.uses(m.ID):
		return t.refuse(refuse(jsonrpc.CodeInvalidRequest, "id %.80s is in use by a request that is not answered yet", id))
	case !t.flights.enter(m.ID, size):
		return t.refuse(refuse(CodeBusy, "busy: too many requests are not answered yet; try again later").withID(id))
	}
	return t.forward(m)
}

// forward hands a message to the SDK when it comes for it.
func (t *Transport) forward(m jsonrpc.Message) bool {
	select {
	case t.incoming <- m:
		return true
	case <-t.closed:
		return false
	}
}

// refuse answers a line and waits until the client takes it, so that one who sends and does not read stops itself.
func (t *Transport) refuse(r *refusal) bool {
	if id, ok := parseID(r.id); !ok || t.flights.uses(id) {
		r.id = nil
	}
	t.log.Debug("refused a line", "code", r.code, "reason", r.text)
	// The transport ends the waiting; no caller stands behind it.
	return t.send(context.Background(), frame{line: r.line(), done: make(chan error, 1)}) == nil
}

// unhandled counts notifications of which the SDK has not said that it is done with them. It belongs to the reader.
type unhandled struct {
	t     *Transport
	count int
	size  int // bytes of their lines
}

// add waits, when there are many, until all are handled: the SDK takes what it was given in order, and notifications one by one,
// so that its answer to a request says that nothing before is left.
func (u *unhandled) add(size int) bool {
	u.count++
	u.size += size
	if u.count < maxNotes && u.size < maxNoteBytes {
		return true
	}
	u.count, u.size = 0, 0
	if !u.t.forward(&jsonrpc.Request{ID: syncID, Method: "ping"}) {
		return false
	}
	select {
	case <-u.t.synced:
		return true
	case <-u.t.closed:
		return false
	}
}
