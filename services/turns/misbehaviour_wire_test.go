package turns_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/services/turns"
)

// dialect writes the pieces of a stream in the words of one protocol.
type dialect struct {
	api   turns.API
	start string                                      // before anything is said
	text  func(piece string) string                   // as it stands between quotes in JSON
	call  func(n int, id, tool, args string) string   // a whole call; args as the model writes them
	end   func(reason string) string                  // in good order; the reason in OpenAI's words
	whole string                                      // an answer that is no stream
	fail  func(kind, message string) string           // an event that reports an error
	body  func(message string) string                 // an error as a body
	halve func(tool, args string) (begun, cut string) // a call that breaks off: before its arguments, within them
}

// quoted is text as a JSON string.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (d dialect) answer(text string) string { return d.start + d.text(text) + d.end("stop") }

func (d dialect) calls(calls ...string) string {
	return d.start + strings.Join(calls, "") + d.end("tool_calls")
}

// chunk is an event of OpenAI's with one choice.
func chunk(delta string) string {
	return "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":" + delta + ",\"finish_reason\":null}]}\n\n"
}

// finish ends a choice of OpenAI's. The reason is JSON.
func finish(reason string) string {
	return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":" + reason + "}]}\n\n"
}

const (
	openAIUsage = `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n"
	openAIDone  = "data: [DONE]\n\n"
)

var openAI = dialect{
	api:   turns.OpenAI,
	start: chunk(`{"role":"assistant","content":""}`),
	text:  func(piece string) string { return chunk(`{"content":"` + piece + `"}`) },
	call: func(n int, id, tool, args string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`,
			n, quoted(id), quoted(tool), quoted(args)))
	},
	end:   func(reason string) string { return finish(quoted(reason)) + openAIUsage + openAIDone },
	whole: `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`,
	fail: func(kind, message string) string {
		return fmt.Sprintf("data: {\"error\":{\"type\":%s,\"message\":%s}}\n\n", quoted(kind), quoted(message))
	},
	body: func(message string) string { return `{"error":{"message":` + quoted(message) + `,"type":"x"}}` },
	halve: func(tool, args string) (string, string) {
		begun := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"h1","type":"function","function":{"name":` + quoted(tool)
		return begun, begun + `,"arguments":""}}]}}]}` + "\n\n" + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":`+quoted(args)+`}}]}`)
	},
}

// event is one of Anthropic's; its name is in its data, too.
func event(data string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
	return "event: " + name + "\ndata: " + data + "\n\n"
}

const anthropicStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// anthropicReason ends a message but for its last event. The reason is JSON.
func anthropicReason(reason string) string {
	return event(`{"type":"message_delta","delta":{"stop_reason":` + reason + `,"stop_sequence":null},"usage":{"output_tokens":2}}`)
}

// blockStart begins a block of Anthropic's.
func blockStart(n int, block string) string {
	return event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, n, block))
}

func blockDelta(n int, delta string) string {
	return event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, n, delta))
}

func blockStop(n int) string {
	return event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n))
}

func useStart(n int, id, tool string) string {
	return blockStart(n, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quoted(id), quoted(tool)))
}

func useDelta(n int, args string) string {
	return blockDelta(n, `{"type":"input_json_delta","partial_json":`+quoted(args)+`}`)
}

// anthropicReasons are OpenAI's finish reasons in Anthropic's words.
var anthropicReasons = map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}

var anthropic = dialect{
	api: turns.Anthropic,
	start: event(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"fake-1","stop_reason":null,` +
		`"usage":{"input_tokens":5,"output_tokens":1}}}`),
	text: func(piece string) string {
		return blockStart(0, `{"type":"text","text":""}`) + blockDelta(0, `{"type":"text_delta","text":"`+piece+`"}`) + blockStop(0)
	},
	call: func(n int, id, tool, args string) string {
		return useStart(n+1, id, tool) + useDelta(n+1, args) + blockStop(n+1)
	},
	end: func(reason string) string { return anthropicReason(quoted(anthropicReasons[reason])) + anthropicStop },
	whole: `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"model":"fake-1","stop_reason":"end_turn",` +
		`"usage":{"input_tokens":5,"output_tokens":2}}`,
	fail: func(kind, message string) string {
		return event(`{"type":"error","error":{"type":` + quoted(kind) + `,"message":` + quoted(message) + `}}`)
	},
	body: func(message string) string {
		return `{"type":"error","error":{"type":"x","message":` + quoted(message) + `}}`
	},
	halve: func(tool, args string) (string, string) {
		begun := "event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"h1","name":` + quoted(tool)
		return begun, begun + `,"input":{}}}` + "\n\n" + useDelta(0, args)
	},
}
