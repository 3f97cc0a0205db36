package turns_test

import (
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// anthropicKinds are troubles that only this protocol knows.
func anthropicKinds() []kind {
	hi := want{text: "hi", asks: 1}
	play := func(name, body string, w want) kind { return kind{name: name, play: sends(body), want: w} }
	start, said, stop := anthropic.start, anthropic.text("hi"), anthropicStop
	ended := func(name, reason string, w want) kind {
		return play("stop reason "+name, start+said+anthropicReason(reason)+stop, w)
	}
	silentEnd := func(name, reason string, w want) kind {
		return play("stop reason "+name+", nothing said", start+anthropicReason(reason)+stop, w)
	}
	called := func(name, blocks string, w want) kind {
		w.text, w.asks = better, 2
		return play(name, start+blocks+anthropic.end("tool_calls"), w)
	}
	made := want{made: []string{`look {"a":1}`}}
	refused := want{refused: []string{"not a JSON object"}}
	ping := event(`{"type":"ping"}`)
	return []kind{
		play("unknown events", start+event(`{"type":"novelty","x":[1]}`)+said+event(`{"type":""}`)+event(`{}`)+anthropic.end("stop"), hi),
		play("unknown blocks and deltas", start+blockStart(1, `{"type":"novelty","text":"x"}`)+blockDelta(1, `{"type":"novel_delta","text":"x"}`)+blockStop(1)+said+anthropic.end("stop"), hi),
		play("a flood of pings", start+strings.Repeat(ping, 50_000)+said+anthropic.end("stop"), hi),
		{name: "pings for ever", play: endless(start, ping, 50_000_000), limits: short(), want: timedOut},
		play("a block that stops before it starts", start+blockStop(3)+said+anthropic.end("stop"), hi),
		play("a delta for an unknown block", start+blockDelta(9, `{"type":"input_json_delta","partial_json":"{}"}`)+said+anthropic.end("stop"), hi),
		play("a text delta without a block", start+blockDelta(9, `{"type":"text_delta","text":"hi"}`)+anthropic.end("stop"), hi),
		play("two message starts", start+said+start+said+anthropic.end("stop"), unreadable),
		play("no message start", said+anthropic.end("stop"), hi),
		play("a stop without a message", stop, want{cause: turnv1.ModelGarbage, says: "without content", asks: 1}),
		play("message stop missing", start+said+anthropicReason(`"end_turn"`), brokeOff),
		play("message delta missing", start+said+stop, hi),
		play("a call, and message stop missing", start+anthropic.call(0, "c1", "look", "{}")+anthropicReason(`"tool_use"`), brokeOff),
		play("more after the message stop", start+said+anthropic.end("stop")+anthropic.call(0, "c1", "look", "{}"), hi),
		play("only thoughts of Anthropic's", start+blockStart(0, `{"type":"thinking","thinking":"","signature":""}`)+
			blockDelta(0, `{"type":"thinking_delta","thinking":"hm"}`)+blockDelta(0, `{"type":"signature_delta","signature":"x"}`)+blockStop(0)+anthropic.end("stop"), empty),
		ended("null", `null`, hi), ended("unknown", `"banana"`, hi), ended("a number", `7`, hi),
		ended("refusal", `"refusal"`, want{cause: turnv1.ModelRefused, says: "declines to answer", asks: 1}),
		ended("pause_turn", `"pause_turn"`, want{cause: turnv1.ModelGarbage, says: "paused in the middle", asks: 1}),
		ended("model_context_window_exceeded", `"model_context_window_exceeded"`, want{text: "hi\n\n[The answer ends here: it reached the model's length limit.]", asks: 1}),
		silentEnd("model_context_window_exceeded", `"model_context_window_exceeded"`, want{text: better, asks: 2}),
		silentEnd("max_tokens", `"max_tokens"`, want{cause: turnv1.ModelGarbage, says: "reached its length limit", asks: 1}),
		play("usage of Anthropic's beyond measure", strings.Replace(start, `"input_tokens":5`, `"input_tokens":-1e300,"cache_read_input_tokens":"x"`, 1)+said+anthropic.end("stop"), hi),
		play("usage of Anthropic's missing", strings.Replace(start, `,"usage":{"input_tokens":5,"output_tokens":1}`, "", 1)+said+
			event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`)+stop, hi),
		play("text in the block's start", start+blockStart(0, `{"type":"text","text":"hi"}`)+blockStop(0)+anthropic.end("stop"), hi),
		called("the input at the block's start", blockStart(0, `{"type":"tool_use","id":"c1","name":"look","input":{"a":1}}`)+blockStop(0), made),
		called("input in two halves", useStart(0, "c1", "look")+useDelta(0, `{"a"`)+useDelta(0, "")+useDelta(0, `:1}`)+blockStop(0), made),
		called("input that is no JSON", useStart(0, "c1", "look")+useDelta(0, `look!`)+blockStop(0), refused),
		called("input cut", useStart(0, "c1", "look")+useDelta(0, `{"a":`), refused),
		called("blocks of one index", useStart(0, "c1", "look")+useDelta(0, `{"a":1}`)+blockStop(0)+useStart(0, "c2", "find")+useDelta(0, `{"b":2}`)+blockStop(0),
			want{made: []string{`look {"a":1}`, `find {"b":2}`}}),
		called("an index below zero", useStart(-1, "c1", "look")+useDelta(-1, `{"a":1}`)+blockStop(-1), made),
		called("a call of null parts", blockStart(0, `{"type":"tool_use","id":null,"name":null,"input":null}`)+blockStop(0), want{refused: []string{`there is no tool ""`}}),
		called("a tool of the server's", blockStart(0, `{"type":"server_tool_use","id":"s1","name":"look","input":{}}`)+blockStop(0)+useStart(1, "c1", "look")+useDelta(1, `{"a":1}`)+blockStop(1), made),
	}
}
