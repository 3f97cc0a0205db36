package stdio_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

// badLines are lines that are answered with an error.
var badLines = []struct {
	name, line string
	code       int64
	id         string
	want       string
}{
	{"text", `Server started`, jsonrpc.CodeParseError, "null", "not JSON"},
	{"a cut message", `{"jsonrpc":"2.0","id":7,"method":"pi`, jsonrpc.CodeParseError, "null", "not JSON"},
	{"two in a line", `{"jsonrpc":"2.0","id":7,"method":"ping"}{}`, jsonrpc.CodeParseError, "null", "after top-level"},
	{"a zero byte", "\x00", jsonrpc.CodeParseError, "null", "not JSON"},
	{"a byte order mark", "\ufeff{}", jsonrpc.CodeParseError, "null", "not JSON"},
	{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\xff\"}", jsonrpc.CodeParseError, "null", "UTF-8"},
	{"a bomb of brackets", strings.Repeat("[", 200_000), jsonrpc.CodeParseError, "null", "not JSON"},
	{"deep", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), jsonrpc.CodeParseError, "null", "depth"},
	{"null", `null`, jsonrpc.CodeInvalidRequest, "null", "object"},
	{"a number", `5`, jsonrpc.CodeInvalidRequest, "null", "object"},
	{"a string", `"ping"`, jsonrpc.CodeInvalidRequest, "null", "object"},
	{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, jsonrpc.CodeInvalidRequest, "null", "batches are not supported by this protocol version"},
	{"an empty batch", " []", jsonrpc.CodeInvalidRequest, "null", "batches"},
	{"an empty object", `{}`, jsonrpc.CodeInvalidRequest, "null", "jsonrpc"},
	{"no version", `{"id":7,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "7", `jsonrpc: want "2.0"`},
	{"version 1", `{"jsonrpc":"1.0","id":"x","method":"ping"}`, jsonrpc.CodeInvalidRequest, `"x"`, `jsonrpc: want "2.0"`},
	{"a version in capitals", `{"JSONRPC":"2.0","id":7,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "7", "jsonrpc"},
	{"no method", `{"jsonrpc":"2.0","id":7}`, jsonrpc.CodeInvalidRequest, "7", "method is missing"},
	{"a method in capitals", `{"jsonrpc":"2.0","id":7,"Method":"ping"}`, jsonrpc.CodeInvalidRequest, "7", "method is missing"},
	{"an empty method", `{"jsonrpc":"2.0","id":7,"method":""}`, jsonrpc.CodeInvalidRequest, "7", "method"},
	{"a number as method", `{"jsonrpc":"2.0","id":7,"method":1}`, jsonrpc.CodeInvalidRequest, "7", "method"},
	{"params in an array", `{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}`, jsonrpc.CodeInvalidParams, "7", "object"},
	{"a number as params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":1}`, jsonrpc.CodeInvalidParams, "7", "object"},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "id"},
	{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "id"},
	{"id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "whole number"},
	{"a large id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "9007199254740991"},
	{"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "id"},
	{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "id"},
	{"our own id", `{"jsonrpc":"2.0","id":"jetclaw/sync","method":"ping"}`, jsonrpc.CodeInvalidRequest, "null", "in use"},
}

func TestBadLines(t *testing.T) {
	r := start(t, nil)
	r.initialize()
	for _, tc := range badLines {
		r.write(tc.line + "\n")
		got := r.read()
		if got.Error == nil || got.Error.Code != tc.code || string(got.ID) != tc.id || !strings.Contains(got.Error.Message, tc.want) {
			t.Errorf("%s: %+v %+v, want %d %s %q", tc.name, got, got.Error, tc.code, tc.id, tc.want)
		}
		if got.Error != nil && len(got.Error.Message) > 200 {
			t.Errorf("%s: a long text: %d bytes", tc.name, len(got.Error.Message))
		}
		r.ping("1")
	}
}

// TestQuietLines are lines that are not answered: there is nothing to say, or nobody to say it to.
func TestQuietLines(t *testing.T) {
	r := start(t, nil)
	r.initialize()
	for _, line := range []string{
		"", " \t", "\r",
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"you sent garbage"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"you sent garbage"}}`,
		`{"id":true,"result":{}}`,
		`{"jsonrpc":"2.0","id":99,"error":"text"}`,
		`{"jsonrpc":"2.0","method":"notifications/unheard"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"jetclaw/sync"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress"}`,
	} {
		r.write(line + "\n")
		r.ping("1")
	}
}

func TestGoodLines(t *testing.T) {
	r := start(t, nil)
	r.initialize()
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r":                                                                    "1",
		` {"jsonrpc" : "2.0" , "id" : "a b" , "method" : "ping" } `:                                                          `"a b"`,
		`{"jsonrpc":"2.0","id":"","method":"ping"}`:                                                                          `""`,
		`{"jsonrpc":"2.0","id":0,"method":"ping","params":null}`:                                                             "0",
		`{"jsonrpc":"2.0","id":-9007199254740991,"method":"ping"}`:                                                           "-9007199254740991",
		`{"jsonrpc":"2.0","id":1e2,"method":"ping"}`:                                                                         "100",
		`{"method":"ping","id":1,"id":2,"jsonrpc":"2.0","extra":{"x":[]}}`:                                                   "2",
		`{"jsonrpc":"2.0","id":"\u00e9\n","method":"ping"}`:                                                                  `"é\n"`,
		`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + "\u2028é" + `"}}}`: `"1"`,
	} {
		r.write(line + "\n")
		if got := r.read(); string(got.ID) != id || got.Error != nil {
			t.Errorf("%s: %s %+v", line, got.ID, got.Error)
		}
	}
}

func TestLongLines(t *testing.T) {
	const limit = 100_000
	r := start(t, func(_ *rig, o *stdio.Options) { o.MaxLine = limit })
	r.initialize()
	pad := func(n int) string { return strings.Repeat("x", n) }
	exact := callOf("1", "echo", "")
	for _, end := range []string{"\n", "\r\n"} {
		fits := strings.TrimSuffix(callOf("1", "echo", pad(limit-len(exact)+1)), "\n")
		if len(fits) != limit {
			t.Fatalf("%d bytes", len(fits))
		}
		r.write(fits + end)
		if got := r.read(); got.Error != nil || string(got.ID) != "1" || len(got.Result) < limit-len(exact) {
			t.Errorf("a line of the largest size: %s %+v", got.ID, got.Error)
		}
		r.write(" " + fits + end)
		if got := r.read(); got.Error == nil || !strings.Contains(got.Error.Message, "longer than 100000 bytes") {
			t.Errorf("one byte more: %s %+v", got.ID, got.Error)
		}
	}
	for _, tc := range []struct{ name, line, id string }{
		{"id first", callOf("7", "echo", pad(5*limit)), "7"},
		{"id last", `{"method":"tools/call","params":{"text":"` + pad(limit) + `"},"jsonrpc":"2.0","id":8}`, "8"},
		{"id last, text", `{"method":"tools/call","params":{"text":"` + pad(limit) + `"}, "id" : "a\"b" } ` + "\r", `"a\"b"`},
		{"id in the middle", `{"method":"x","params":{"text":"` + pad(limit) + `"},"id":8,"meta":"` + pad(limit) + `"}`, "null"},
		{"id of the params", `{"method":"x","params":{"id":5,"text":"` + pad(limit) + `","id":6}}`, "null"},
		{"id inside of a text", `{"method":"x","params":"` + pad(limit) + `,\"id\":6}"}`, "null"},
		{"id that is cut", `{"method":"x","p":"` + pad(4096-len(`{"method":"x","p":"","id":1`)) + `","id":1234567,"q":"` + pad(limit) + `"}`, "null"},
		{"no id of a request", `{"method":"x","id":{},"params":"` + pad(limit) + `"}`, "null"},
		{"a response", `{"jsonrpc":"2.0","id":9,"result":{"text":"` + pad(limit) + `"}}`, "null"},
		{"a response, id last", `{"result":{"text":"` + pad(limit) + `"},"jsonrpc":"2.0","id":9}`, "null"},
		{"garbage", pad(3 * limit), "null"},
		{"spaces", strings.Repeat(" ", 2*limit), "null"},
		{"no UTF-8", "{\"method\":\"x\",\"id\":\"\xff\",\"params\":\"" + pad(limit) + `"}`, "null"},
	} {
		r.write(tc.line + strings.Repeat("\n", 1-strings.Count(tc.line, "\n")))
		got := r.read()
		if got.Error == nil || got.Error.Code != jsonrpc.CodeInvalidRequest || string(got.ID) != tc.id ||
			!strings.Contains(got.Error.Message, "longer than 100000 bytes") {
			t.Errorf("%s: %s %+v, want %s", tc.name, got.ID, got.Error, tc.id)
		}
		r.ping("1")
	}
}

// TestIDInUse: what cannot be told from the answer to a request that runs does not get its id.
func TestIDInUse(t *testing.T) {
	r := start(t, func(_ *rig, o *stdio.Options) { o.MaxLine = 10_000 })
	r.initialize()
	r.write(callOf("7", "hold", "first"))
	for _, line := range []string{
		callOf("7", "echo", "second"),
		callOf("7.0", "echo", "second"),
		callOf("7", "echo", strings.Repeat("x", 20_000)),
		`{"id":7,"method":"ping"}` + "\n",
	} {
		r.write(line)
		if got := r.read(); string(got.ID) != "null" || got.Error == nil || got.Error.Code != jsonrpc.CodeInvalidRequest {
			t.Errorf("%.60s: %+v %+v", line, got, got.Error)
		}
	}
	r.write(callOf(`"7"`, "echo", "a text is another id"))
	if got := r.read(); string(got.ID) != `"7"` || got.Error != nil {
		t.Errorf("%+v", got)
	}
	close(r.release)
	if got := r.read(); string(got.ID) != "7" || !strings.Contains(string(got.Result), "first") {
		t.Errorf("%+v", got)
	}
	r.ping("7") // free again
}
