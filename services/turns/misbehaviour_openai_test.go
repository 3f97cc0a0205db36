package turns_test

import (
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// choices is an event of OpenAI's with these choices, in JSON.
func choices(list string) string { return "data: {\"choices\":" + list + "}\n\n" }

// openAIKinds are troubles that only this protocol knows.
func openAIKinds() []kind {
	hi := want{text: "hi", asks: 1}
	play := func(name, body string, w want) kind { return kind{name: name, play: sends(body), want: w} }
	said := func(name, usage string) kind {
		return play("usage "+name, openAI.start+chunk(`{"content":"hi"}`)+finish(`"stop"`)+"data: {\"choices\":[],\"usage\":"+usage+"}\n\n"+openAIDone, hi)
	}
	ended := func(name, reason string, w want) kind {
		return play("finish reason "+name, openAI.start+chunk(`{"content":"hi"}`)+finish(reason)+openAIDone, w)
	}
	nothing := want{cause: turnv1.ModelGarbage, says: "without content", asks: 1}
	begun := openAI.start + chunk(`{"content":"hi"}`)
	return []kind{
		said("of nothing", `null`), said("below zero", `{"prompt_tokens":-5,"completion_tokens":-1}`),
		said("in fractions", `{"prompt_tokens":5.7,"completion_tokens":0.2}`), said("in words", `{"prompt_tokens":"many","completion_tokens":[]}`),
		said("beyond measure", `{"prompt_tokens":1e300,"completion_tokens":99999999999999999999}`), said("as a list", `[1,2]`), said("as a text", `"5"`),
		play("choices of nothing", openAI.start+choices("null")+choices("[]")+chunk(`{"content":"hi"}`)+"data: {}\n\n"+openAI.end("stop"), hi),
		play("never a choice", choices("null")+choices("[]")+"data: {}\n\n"+openAIDone, nothing),
		play("two choices", choices(`[{"index":0,"delta":{"content":"hi"}},{"index":1,"delta":{"content":"ho"}}]`)+openAI.end("stop"), hi),
		play("the second choice only", choices(`[{"index":1,"delta":{"content":"ho"},"finish_reason":"stop"}]`)+openAIDone, nothing),
		play("choices that are none", openAI.start+choices(`[7]`)+openAI.end("stop"), unreadable),
		play("choices that are a text", openAI.start+choices(`"hi"`)+openAI.end("stop"), unreadable),
		play("a delta of nothing", choices(`[{"index":0,"delta":null}]`)+openAI.end("stop"), empty),
		play("a message for a delta", choices(`[{"index":0,"message":{"content":"hi"}}]`)+openAI.end("stop"), empty),
		play("content in parts", openAI.start+chunk(`{"content":[{"type":"text","text":"h"},{"type":"image","text":"x"},{"type":"text","text":"i"}]}`)+openAI.end("stop"), hi),
		play("content of nothing", openAI.start+chunk(`{"content":null}`)+openAI.end("stop"), empty),
		play("another role in the middle", begun+chunk(`{"role":"user","content":"!"}`)+openAI.end("stop"), want{text: "hi!", asks: 1}),
		play("a refusal", openAI.start+chunk(`{"refusal":"I will not"}`)+openAI.end("stop"), want{text: "I will not", asks: 1}),
		play("only thoughts", openAI.start+chunk(`{"reasoning_content":"hm","reasoning":"hm"}`)+openAI.end("stop"), empty),
		play("a function of old", openAI.start+chunk(`{"function_call":{"name":"look","arguments":"{}"}}`)+finish(`"function_call"`)+openAIDone, empty),
		ended("null", `null`, hi), ended("unknown", `"banana"`, hi), ended("empty", `""`, hi), ended("a number", `7`, hi),
		ended("error", `"error"`, want{cause: turnv1.ModelGarbage, says: "broke off in the middle", asks: 1}),
		play("finish reason missing", begun+openAIDone, hi),
		play("no end at all", begun, brokeOff),
		play("cut after the finish reason", begun+finish(`"stop"`), hi),
		play("cut before DONE", begun+finish(`"stop"`)+openAIUsage, hi),
		{name: "broken connection after the finish reason", play: breaks(begun + finish(`"stop"`)), want: hi},
		{name: "no end after the finish reason", play: endless(begun+finish(`"stop"`), ": ping\n\n", 50_000_000), want: hi},
		play("DONE first", openAIDone+begun+openAI.end("stop"), nothing),
		play("text after DONE", begun+openAI.end("stop")+chunk(`{"content":"?"}`), hi),
		play("garbage after DONE", begun+openAI.end("stop")+"data: {{{\n\n", hi),
		play("text after the finish reason", begun+finish(`"stop"`)+chunk(`{"content":"!"}`)+openAI.end("stop"), want{text: "hi!", asks: 1}),
		play("text cut after the finish reason", begun+finish(`"stop"`)+chunk(`{"content":" an"}`), brokeOff),
		play("a finish reason in every event", strings.ReplaceAll(openAI.start+begun, "null", `"stop"`)+openAI.end("stop"), hi),
	}
}

// openAICallKinds are tool calls in pieces, which every imitation numbers in its own way.
func openAICallKinds() []kind {
	play := func(name, body string, w want) kind {
		w.text, w.asks = better, 2
		return kind{name: name, play: sends(openAI.start + body + openAI.end("tool_calls")), want: w}
	}
	tools := func(list string) string { return chunk(`{"tool_calls":` + list + `}`) }
	both := want{made: []string{`look {"a":1}`, `find {"b":2}`}}
	look := want{made: []string{`look {"a":1}`}}
	refused := func(says string) want { return want{refused: []string{says}} }
	piece := func(index, id, tool, args string) string {
		return `{` + index + `"id":` + id + `,"function":{"name":` + tool + `,"arguments":` + quoted(args) + `}}`
	}
	first, second := piece(`"index":0,`, `"c1"`, `"look"`, `{"a":1}`), piece(`"index":1,`, `"c2"`, `"find"`, `{"b":2}`)
	more := func(index, args string) string {
		return `{"index":` + index + `,"function":{"arguments":` + quoted(args) + `}}`
	}
	begun := piece(`"index":0,`, `"c1"`, `"look"`, "")
	kinds := []kind{
		play("two calls in one event", tools("["+first+","+second+"]"), both),
		play("index missing", tools("["+piece("", `"c1"`, `"look"`, `{"a":1}`)+"]")+tools("["+piece("", `"c2"`, `"find"`, `{"b":2}`)+"]"), both),
		play("index always 0", tools("["+first+"]")+tools("["+piece(`"index":0,`, `"c2"`, `"find"`, `{"b":2}`)+"]"), both),
		play("index huge", tools("["+piece(`"index":2147483648,`, `"c1"`, `"look"`, `{"a":1}`)+"]"), look),
		play("index negative", tools("["+piece(`"index":-1,`, `"c1"`, `"look"`, `{"a":1}`)+"]"), look),
		play("index missing, no ids", tools("["+piece("", `null`, `"look"`, `{"a":1}`)+","+piece("", `null`, `"find"`, `{"b":2}`)+"]"), refused("not a JSON object")),
		play("ids that are numbers", tools("["+piece(`"index":0,`, `7`, `"look"`, `{"a":1}`)+"]"), look),
		play("half of a pair in an id", tools("["+piece(`"index":0,`, `"\ud83d"`, `"look"`, `{"a":1}`)+"]"), look),
		play("arguments in two halves", tools("["+begun+"]")+tools("["+more("0", `{"a"`)+"]")+tools("["+more("0", `:1}`)+"]"), look),
		play("arguments split in an escape", tools("["+begun+"]")+tools("["+more("0", `{"a":"\u00`)+"]")+tools("["+more("0", `e9\`)+"]")+tools("["+more("0", `n"}`)+"]"),
			want{made: []string{`look {"a":"\u00e9\n"}`}}),
		play("arguments of two calls in turns", tools("["+begun+","+piece(`"index":1,`, `"c2"`, `"find"`, `{"b"`)+"]")+
			tools("["+more("0", `{"a":`)+","+more("1", `:2`)+"]")+tools("["+more("1", `}`)+","+more("0", `1}`)+"]"), both),
		play("a new id in every piece", tools("["+piece(`"index":0,`, `"c1"`, `"look"`, `{"a"`)+"]")+tools("["+piece(`"index":0,`, `"c2"`, `""`, `:1}`)+"]"),
			want{refused: []string{"not a JSON object", `there is no tool ""`}}),
		play("arguments as an object", tools(`[{"index":0,"id":"c1","function":{"name":"look","arguments":{"a":1}}}]`), look),
		play("arguments of nothing", tools(`[{"index":0,"id":"c1","function":{"name":"look","arguments":null}}]`), want{made: []string{"look {}"}}),
		play("arguments before the name", tools(`[{"index":0,"function":{"arguments":"{\"a\":1}"}}]`)+tools(`[{"index":0,"id":"c1","function":{"name":"look"}}]`), look),
		play("arguments before any call", tools("["+more("3", `{"a":1}`)+"]"), refused(`there is no tool ""`)),
		play("a name in two halves", tools(`[{"index":0,"id":"c1","function":{"name":"lo"}}]`)+tools(`[{"index":0,"function":{"name":"ok","arguments":"{}"}}]`), refused(`there is no tool "lo"`)),
		play("no function", tools(`[{"index":0,"id":"c1","type":"custom"}]`), refused(`there is no tool ""`)),
		play("calls after the final text", chunk(`{"content":"hi"}`)+finish(`"stop"`)+tools("["+first+"]"), look),
	}
	return append(
		kinds,
		kind{name: "calls that are an object", play: sends(openAI.start + tools(first) + openAI.end("tool_calls")), want: unreadable},
		kind{name: "calls that are a text", play: sends(openAI.start + tools(`"look"`) + openAI.end("tool_calls")), want: unreadable},
		kind{name: "index in fractions", play: sends(openAI.calls(tools("[" + piece(`"index":0.5,`, `"c1"`, `"look"`, "{}") + "]"))), want: unreadable},
		kind{name: "calls of nothing", play: sends(openAI.start + tools("null") + tools("[]") + chunk(`{"content":"hi"}`) + openAI.end("stop")), want: want{text: "hi", asks: 1}},
		kind{name: "a call cut after the final text", play: sends(openAI.start + chunk(`{"content":"hi"}`) + finish(`"stop"`) + tools("["+begun+"]")), want: brokeOff},
		kind{name: "a call broken off after the finish reason", play: breaks(openAI.start + finish(`"tool_calls"`) + tools("["+begun+"]")), want: brokeOff},
	)
}
