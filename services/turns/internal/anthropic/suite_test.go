package anthropic_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/anthropic"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider/providertest"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

const key = providertest.Key

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newModel(cfg provider.Config) (providertest.Model, error) { return anthropic.New(cfg) }

func serve(t *testing.T, body string) providertest.Model {
	return providertest.New(newModel).Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = fmt.Fprint(w, body)
	})
}

// event is one as it stands on the wire; its name is in its data, too.
func event(data string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
	return "event: " + name + "\ndata: " + data + "\n\n"
}

const (
	ping  = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"fake-1","stop_reason":null,` +
		`"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}`
)

// block is a whole content block of texts.
func block(index int, pieces ...string) string {
	var b strings.Builder
	b.WriteString(event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index)))
	for _, p := range pieces {
		b.WriteString(piece(index, p))
	}
	return b.String() + closed(index)
}

func piece(index int, text string) string {
	return event(`{"type":"content_block_delta","index":` + fmt.Sprint(index) + `,"delta":{"type":"text_delta","text":"` + text + `"}}`)
}

func closed(index int) string {
	return event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// use is a whole tool call.
func use(index int, id, name string, pieces ...string) string {
	var b strings.Builder
	b.WriteString(event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, index, id, name)))
	for _, p := range pieces {
		b.WriteString(event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, index, p)))
	}
	return b.String() + closed(index)
}

func end(reason string) string {
	return event(fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":15}}`, reason)) +
		event(`{"type":"message_stop"}`)
}

func TestSuite(t *testing.T) {
	counted := turnv1.Usage{Input: 325, Output: 15, CacheRead: 300, CacheWrite: 20}
	providertest.Suite{
		New: newModel,
		Good: map[string]providertest.Good{
			"text": {Body: event(start) + ping + block(0, "one, wörld 👋 ", `tw\u006f`) + end("end_turn"), Want: model.Answer{Text: "one, wörld 👋 two", Usage: counted}},
			"calls": {
				Body: event(start) + block(0, "look") + use(1, "toolu_1", "read", "", `{"pa`, `th":"x"}`) + use(2, "toolu_2", "now") + end("tool_use"),
				Want: model.Answer{Text: "look", Usage: counted, Calls: []model.RawCall{{ID: "toolu_1", Tool: "read", Arguments: `{"path":"x"}`}, {ID: "toolu_2", Tool: "now"}}},
			},
			// a server that names no events and ends its lines in its own way
			"other forms": {
				Body: strings.ReplaceAll(": hello\n\nid: 1\nretry: 5\ndata:"+start+"\n\n\n"+"data: "+`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\"\u00e9\ud83d\ude00 é\n"}}`+
					"\n\ndata: \n\ndata: "+`{"type":"message_stop"}`+"\n\n", "\n", "\r\n"),
				Want: model.Answer{Text: "a\"é😀 é\n", Usage: turnv1.Usage{Input: 325, Output: 1, CacheRead: 300, CacheWrite: 20}},
			},
		},
		Start:      event(start) + ping,
		Text:       func(p string) string { return piece(0, p) },
		End:        end("end_turn"),
		Overloaded: event(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		TooLong:    event(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`),
		ErrorBody: func(message string) string {
			return fmt.Sprintf(`{"type":"error","error":{"type":"x","message":%q}}`, message)
		},
	}.Run(t)
}
