package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// CodeBusy is the JSON-RPC error of a request that came when too many were unanswered.
const CodeBusy = -32029

const (
	maxID   = 1 << 10   // bytes of an id as it is written
	maxSafe = 1<<53 - 1 // above it numbers change on their way through a float64, as which the SDK, like most, reads them
)

// refusal is the answer to a line that is no message.
type refusal struct {
	id   json.RawMessage // nil: null
	code int64
	text string
}

func refuse(code int64, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

func (r *refusal) withID(id json.RawMessage) *refusal {
	r.id = id
	return r
}

// errorLine is a refusal on the wire. jsonrpc.EncodeMessage would leave out an id that is null.
type errorLine struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil is written as null
	Error   jsonrpc.Error   `json:"error"`
}

func (r *refusal) line() []byte {
	b, err := json.Marshal(errorLine{"2.0", r.id, jsonrpc.Error{Code: r.code, Message: r.text}})
	if err != nil { // ids are checked before: they are JSON
		b = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return append(b, '\n')
}

// parse reads a line that is not blank. Without a message and a refusal it is a broken response, which nobody is told of. What it
// gives shares no memory with data.
func parse(data []byte) (jsonrpc.Message, *refusal) {
	if !utf8.Valid(data) {
		return nil, refuse(jsonrpc.CodeParseError, "the line is not UTF-8")
	}
	var fields map[string]json.RawMessage // not a struct: encoding/json would take "ID" for "id"
	err := json.Unmarshal(data, &fields)
	switch {
	case err != nil && !json.Valid(data):
		return nil, refuse(jsonrpc.CodeParseError, "the line is not JSON: %v", err)
	case bytes.TrimLeft(data, " \t\r")[0] == '[':
		return nil, refuse(jsonrpc.CodeInvalidRequest, "batches are not supported by this protocol version")
	case fields == nil:
		return nil, refuse(jsonrpc.CodeInvalidRequest, "a message is a JSON object")
	}
	_, isResult := fields["result"]
	_, isError := fields["error"]
	if _, ok := fields["method"]; !ok && (isResult || isError) {
		if r := response(fields); r != nil {
			return r, nil
		}
		return nil, nil
	}
	m, bad := request(fields)
	if bad != nil {
		return nil, bad
	}
	return m, nil
}

func request(fields map[string]json.RawMessage) (*jsonrpc.Request, *refusal) {
	m := &jsonrpc.Request{Params: fields["params"]}
	raw, call := fields["id"]
	if call {
		var ok bool
		if m.ID, ok = parseID(raw); !ok {
			return nil, refuse(jsonrpc.CodeInvalidRequest, "id: want a string, or a whole number of at most %d", int64(maxSafe))
		}
	}
	var version string
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return nil, refuse(jsonrpc.CodeInvalidRequest, `jsonrpc: want "2.0"`).withID(raw)
	}
	method, ok := fields["method"]
	switch {
	case !ok:
		return nil, refuse(jsonrpc.CodeInvalidRequest, "method is missing").withID(raw)
	case json.Unmarshal(method, &m.Method) != nil || m.Method == "":
		return nil, refuse(jsonrpc.CodeInvalidRequest, "method: want a name").withID(raw)
	case len(m.Params) > 0 && m.Params[0] != '{' && m.Params[0] != 'n': // null is as good as none
		return nil, refuse(jsonrpc.CodeInvalidParams, "params: want an object").withID(raw)
	}
	return m, nil
}

// response is nil for one that says not what it answers.
func response(fields map[string]json.RawMessage) *jsonrpc.Response {
	id, ok := parseID(fields["id"])
	if !ok {
		return nil
	}
	r := &jsonrpc.Response{ID: id, Result: fields["result"]}
	if raw := fields["error"]; len(raw) > 0 && raw[0] != 'n' {
		e := new(jsonrpc.Error)
		if json.Unmarshal(raw, e) != nil { // whoever waits for it shall not wait for ever
			e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client has sent an error that is none"}
		}
		r.Error = e
	}
	return r
}

// parseID takes what MCP allows and the SDK gives back unchanged.
func parseID(raw json.RawMessage) (jsonrpc.ID, bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return jsonrpc.ID{}, false
	}
	var v any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return jsonrpc.ID{}, false
	}
	if n, ok := v.(float64); ok && (n != math.Trunc(n) || math.Abs(n) > maxSafe) {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(v)
	return id, err == nil
}
