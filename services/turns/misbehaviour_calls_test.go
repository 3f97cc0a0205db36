package turns_test

import (
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// deep is an object of n objects within each other.
func deep(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }

// callKinds are odd tool calls. A call that leaves the turn is answered, one that does not is refused; then the model
// behaves.
func callKinds(d dialect) []kind {
	one := func(name, id, tool, args string, w want) kind {
		w.text, w.asks = better, 2
		return kind{name: name, play: sends(d.calls(d.call(0, id, tool, args))), want: w}
	}
	made := func(calls ...string) want { return want{made: calls} }
	refused := func(says ...string) want { return want{refused: says} }
	args := func(name, args, says string) kind { return one(name, "c1", "look", args, refused(says)) }
	many := make([]string, 200)
	for i := range many {
		many[i] = d.call(i, fmt.Sprint("c", i), "look", "{}")
	}
	long := `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`
	longer := `{"a":"` + strings.Repeat("x", 7_000_000) + `"}`
	few := turn.DefaultLimits()
	few.Rounds = 5
	again := []string{`look {"a":1}`, `look {"a":1}`, `look {"a":1}`, `look {"a":1}`, `look {"a":1}`}
	return []kind{
		one("a tool without a name", "c1", "", "{}", refused(`there is no tool ""`)),
		one("a tool that is not offered", "c1", "exec", `{"cmd":"rm"}`, refused(`there is no tool "exec" here`)),
		one("a name with spaces", "c1", "look at\x1b[31m this", "{}", refused(`there is no tool "look at\x1b[31m this"`)),
		one("a name of 300 letters", "c1", strings.Repeat("n", 300), "{}", refused("there is no tool")),
		one("a name of 1 MB", "c1", strings.Repeat("n", 1_000_000), "{}", refused(`there is no tool "`+strings.Repeat("n", 128)+`"`)),
		one("a name in capitals", "c1", "LOOK", "{}", refused(`there is no tool "LOOK" here; there is look`)),
		one("the key in a name", "c1", secretKey, "{}", refused("there is no tool")),
		one("no id", "", "look", "{}", made("look {}")),
		one("an id of 10 KB", strings.Repeat("i", 10_000), "look", "{}", made("look {}")),
		one("an id with spaces", "call 1/\n2", "look", "{}", made("look {}")),
		one("the key as an id", secretKey, "look", "{}", made("look {}")),
		one("no arguments", "c1", "look", "", made("look {}")),
		one("blank arguments", "c1", "look", " \n", made("look {}")),
		args("arguments that are no JSON", `look at this`, "not a JSON object"),
		args("half of the arguments", `{"a":"b`, "not a JSON object"),
		args("arguments and more", `{"a":1}{"a":2}`, "not a JSON object"),
		args("a list of arguments", `[1]`, "not a JSON object"),
		args("a text of arguments", `"{\"a\":1}"`, "not a JSON object"),
		args("null for arguments", `null`, "not a JSON object: null"),
		args("raw control characters in arguments", "{\"a\":\"\x1b\n\"}", "not a JSON object"),
		args("an abyss of arguments", deep(10_001), "not a JSON object"),
		args("nearly an abyss of arguments", deep(9_999), "nested more than 100 deep"),
		one("deep arguments", "c1", "look", deep(90), made("look "+deep(90))),
		one("the same argument twice", "c1", "look", `{"a":1,"a":2}`, made(`look {"a":1,"a":2}`)),
		one("half of a pair in arguments", "c1", "look", `{"a":"\ud83d"}`, made(`look {"a":"\ud83d"}`)),
		one("NUL in arguments", "c1", "look", `{"a":"\u0000"}`, made(`look {"a":"\u0000"}`)),
		one("the key in arguments", "c1", "look", `{"a":"`+secretKey+`"}`, made(`look {"a":"[key]"}`)),
		one("1 MB of arguments", "c1", "look", long, want{refused: []string{"the arguments have 1000008 bytes, more than the 65536 that are allowed"}}),
		one("7 MB of arguments", "c1", "look", longer, want{refused: []string{"the arguments have 7000008 bytes, more than the 65536 that are allowed"}}),
		{
			name: "200 calls at once", play: sends(d.calls(many...)),
			want: want{cause: turnv1.ModelGarbage, says: "asked for 200 tool calls at once", asks: 1},
		},
		{
			name: "the same id twice", play: sends(d.calls(d.call(0, "c1", "look", `{"a":1}`), d.call(1, "c1", "find", `{"b":2}`))),
			want: want{text: better, asks: 2, made: []string{`look {"a":1}`, `find {"b":2}`}},
		},
		{
			name: "a good call and a bad one", play: sends(d.calls(d.call(0, "c1", "look", `{"a":1}`), d.call(1, "c2", "find", `{"b`))),
			want: want{text: better, asks: 2, made: []string{`look {"a":1}`}, refused: []string{"not a JSON object"}},
		},
		{
			name: "calls, but stop", play: sends(d.start + d.call(0, "c1", "look", "{}") + d.end("stop")),
			want: want{text: better, asks: 2, made: []string{"look {}"}},
		},
		{
			name: "arguments at the limit", play: sends(d.start + d.call(0, "c1", "look", `{"a":"b`) + d.end("length")),
			want: want{text: better, asks: 2, refused: []string{"incomplete: the answer reached its length limit"}},
		},
		{
			name: "text and a call", play: sends(d.start + d.text("let me look") + d.call(0, "c1", "look", "{}") + d.end("tool_calls")),
			want: want{text: better, asks: 2, made: []string{"look {}"}},
		},
		{
			name: "the same id in two rounds", play: sends(d.calls(d.call(0, "c1", "look", `{"a":1}`))), bad: 2,
			want: want{text: better, asks: 3, made: again[:2]},
		},
		{
			name: "a call for ever", play: sends(d.calls(d.call(0, "c1", "look", `{"a":1}`))), bad: -1, limits: few,
			want: want{cause: turnv1.TooManyRounds, says: "after 5 rounds there was still no answer", asks: 5, made: again},
		},
		{
			name: "a refused call for ever", play: sends(d.calls(d.call(0, "", "", "]"))), bad: -1, limits: few,
			want: want{cause: turnv1.Looping, says: `I called the tool "" 3 times`, asks: 3, refused: []string{"no tool", "no tool", "no tool"}},
		},
	}
}
