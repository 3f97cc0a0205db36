package prompt_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

var plain = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// wellFormed says which of the providers' rules msgs breaks.
func wellFormed(msgs []model.Message) error {
	ids := map[string]bool{}
	var open []turn.Call
	for i, m := range msgs {
		switch {
		case !utf8.ValidString(m.Text):
			return fmt.Errorf("message %d is not UTF-8", i)
		case strings.TrimSpace(m.Text) == "" && (len(m.Calls) == 0 || m.Text != ""):
			return fmt.Errorf("message %d is empty", i)
		case m.Role == turn.Tool:
			if len(open) == 0 || open[0].ID != m.Call || open[0].Tool != m.Name || m.Calls != nil {
				return fmt.Errorf("message %d is a result of %q %q, open are %v", i, m.Call, m.Name, open)
			}
			open = open[1:]
			continue
		case len(open) > 0:
			return fmt.Errorf("message %d follows calls without results: %v", i, open)
		case m.Call != "" || m.Name != "":
			return fmt.Errorf("message %d names a call", i)
		case m.Role == turn.System && i > 0:
			return fmt.Errorf("message %d is a system text", i)
		case m.Role != turn.System && m.Role != turn.User && m.Role != turn.Assistant:
			return fmt.Errorf("message %d is by %q", i, m.Role)
		case m.Role != turn.Assistant && m.Calls != nil:
			return fmt.Errorf("message %d has calls but is by %q", i, m.Role)
		}
		for _, c := range m.Calls {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(c.Arguments), &object); err != nil || object == nil || !utf8.ValidString(c.Arguments) {
				return fmt.Errorf("arguments %q", c.Arguments)
			}
			if ids[c.ID] || !plain.MatchString(c.ID) || !plain.MatchString(c.Tool) {
				return fmt.Errorf("call %q of %q", c.ID, c.Tool)
			}
			ids[c.ID] = true
		}
		open = m.Calls
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("the list ends with open calls %v", open)
	case len(msgs) > 0 && msgs[0].Role == turn.System:
		msgs = msgs[1:]
	}
	if len(msgs) == 0 || msgs[0].Role != turn.User || msgs[len(msgs)-1].Role == turn.Assistant {
		return fmt.Errorf("begins or ends with the wrong side: %d messages", len(msgs))
	}
	return nil
}

func check(t interface{ Fatalf(string, ...any) }, msgs []model.Message) {
	before := compact(msgs)
	fixed := prompt.Repair(msgs)
	if err := wellFormed(fixed); err != nil {
		t.Fatalf("%v\nof %s\nbecame %s", err, before, compact(fixed))
	}
	if again := prompt.Repair(fixed); !reflect.DeepEqual(again, fixed) {
		t.Fatalf("repaired twice, %s\nbecomes %s", compact(fixed), compact(again))
	}
	if after := compact(msgs); before != after {
		t.Fatalf("what was given is changed:\n%s\n%s", before, after)
	}
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

var (
	anyID   = rapid.SampledFrom([]string{"a", "a", "b", "a_2", "call", "call_2", "", "ä", "x.y", "é\xff", strings.Repeat("z", 64), strings.Repeat("z", 70)})
	anyText = rapid.OneOf(rapid.SampledFrom([]string{"", " ", "\n\t", "hi", "\xff\xfe", "a\xc3", "\u00a0", "nul\x00"}), rapid.String())
	anyArgs = rapid.OneOf(rapid.SampledFrom([]string{
		"", "{}", "null", "[]", `"x"`, `{"a":1}`, ` {"a":1} `, `{"a":`, `{}{}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":"\udc00x"}`,
		`{"a":"\ud83d\ude00"}`, `{"a":"\\ud800"}`, `{"\ud800\ud800":1e999}`, "\u00a0{}",
	}), rapid.String())
	anyCall = rapid.Custom(func(t *rapid.T) turn.Call {
		return turn.Call{
			ID: anyID.Draw(t, "id"), Tool: rapid.SampledFrom([]string{"read", "", "a b", "ü", strings.Repeat("t", 80)}).Draw(t, "tool"),
			Arguments: anyArgs.Draw(t, "arguments"), Result: anyText.Draw(t, "old result"),
		}
	})
	anyMessage = rapid.Custom(func(t *rapid.T) model.Message {
		return model.Message{
			Role:  rapid.SampledFrom([]turn.Role{turn.System, turn.User, turn.Assistant, turn.Assistant, turn.Tool, turn.Tool, "", "robot"}).Draw(t, "role"),
			Text:  anyText.Draw(t, "text"),
			Calls: rapid.SliceOfN(anyCall, 0, 4).Draw(t, "calls"),
			Call:  anyID.Draw(t, "call"), Name: anyID.Draw(t, "name"),
		}
	})
)

func TestRepairOfGarbage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.SliceOfN(anyMessage, 0, 12).Draw(t, "messages")) })
}

// FuzzRepair reads a list of messages out of bytes.
func FuzzRepair(f *testing.F) {
	f.Add([]byte("u hi\na \nc x {}\nt x yes\nt x no\na done\n"))
	f.Add([]byte("t x\na\nc \xff {\nc a {}\nu\nt a r\ns system\na"))
	roles := map[byte]turn.Role{'s': turn.System, 'u': turn.User, 'a': turn.Assistant, 't': turn.Tool}
	f.Fuzz(func(t *testing.T, data []byte) {
		var msgs []model.Message
		for line := range strings.SplitSeq(string(data), "\n") {
			if line == "" {
				continue
			}
			id, rest, _ := strings.Cut(strings.TrimPrefix(line[1:], " "), " ")
			if line[0] == 'c' && len(msgs) > 0 {
				last := &msgs[len(msgs)-1]
				last.Calls = append(last.Calls, turn.Call{ID: id, Tool: id, Arguments: rest})
				continue
			}
			msgs = append(msgs, model.Message{Role: roles[line[0]], Text: rest, Call: id})
		}
		check(t, msgs)
	})
}

// A well-formed list comes back as it was.
func TestRepairLeavesWhatIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zä ]{0,20}x`)
		n := 0
		var msgs []model.Message
		if rapid.Bool().Draw(t, "system") {
			msgs = append(msgs, model.Message{Role: turn.System, Text: text.Draw(t, "text")})
		}
		for range rapid.IntRange(1, 5).Draw(t, "turns") {
			for range rapid.IntRange(1, 2).Draw(t, "users") {
				msgs = append(msgs, model.Message{Role: turn.User, Text: text.Draw(t, "text")})
			}
			m := model.Message{Role: turn.Assistant}
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				n++
				args := rapid.SampledFrom([]string{"{}", `{"a": "\ud83d\ude00"}`, "{ \n}"}).Draw(t, "arguments")
				m.Calls = append(m.Calls, turn.Call{ID: fmt.Sprint("c", n), Tool: "read", Arguments: args, Done: true, Result: "kept"})
			}
			if m.Calls == nil || rapid.Bool().Draw(t, "both") {
				m.Text = text.Draw(t, "text")
			}
			msgs = append(msgs, m)
			for _, c := range m.Calls {
				msgs = append(msgs, model.Message{Role: turn.Tool, Text: text.Draw(t, "text"), Call: c.ID, Name: "read"})
			}
		}
		if msgs[len(msgs)-1].Role == turn.Assistant {
			msgs = append(msgs, model.Message{Role: turn.User, Text: "more"})
		}
		if err := wellFormed(msgs); err != nil {
			t.Fatalf("the test's own list: %v", err)
		}
		if got := prompt.Repair(msgs); !reflect.DeepEqual(got, msgs) {
			t.Fatalf("%s\nbecame %s", compact(msgs), compact(got))
		}
	})
}

func TestRepair(t *testing.T) {
	user := model.Message{Role: turn.User, Text: "hi"}
	calls := func(ids ...string) model.Message {
		m := model.Message{Role: turn.Assistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, turn.Call{ID: id, Tool: "read", Arguments: "{}"})
		}
		return m
	}
	of := func(id, text string) model.Message {
		return model.Message{Role: turn.Tool, Call: id, Name: "read", Text: text}
	}
	for _, c := range []struct {
		name     string
		in, want []model.Message
	}{
		{"nothing", nil, []model.Message{{Role: turn.User, Text: "(go on)"}}},
		{"a call without a result", []model.Message{user, calls("a")}, []model.Message{user, calls("a"), of("a", "no result yet")}},
		{"an empty result", []model.Message{user, calls("a"), of("a", " ")}, []model.Message{user, calls("a"), of("a", "(no output)")}},
		{"a result too many", []model.Message{user, calls("a"), of("a", "1"), of("a", "2")}, []model.Message{user, calls("a"), of("a", "1")}},
		{"nobody's result", []model.Message{user, of("b", "1"), calls("a"), of("a", "2")}, []model.Message{user, calls("a"), of("a", "2")}},
		{
			"the wrong order",
			[]model.Message{user, calls("a", "b"), of("b", "B"), of("a", "A")},
			[]model.Message{user, calls("a", "b"), of("a", "A"), of("b", "B")},
		},
		{
			"somebody came between",
			[]model.Message{user, calls("a"), user, of("a", "A")},
			[]model.Message{user, calls("a"), of("a", "A"), user},
		},
		{
			"the same id in two rounds",
			[]model.Message{user, calls("a"), of("a", "1"), calls("a"), of("a", "2")},
			[]model.Message{user, calls("a"), of("a", "1"), calls("a_2"), of("a_2", "2")},
		},
		{
			"the same id twice in one",
			[]model.Message{user, calls("a", "a"), of("a", "1"), of("a", "2")},
			[]model.Message{user, calls("a", "a_2"), of("a", "1"), of("a_2", "2")},
		},
		{
			"the assistant first and last",
			[]model.Message{{Role: turn.Assistant, Text: "hello"}},
			[]model.Message{
				{Role: turn.User, Text: "(what was said before is left out)"}, {Role: turn.Assistant, Text: "hello"}, {Role: turn.User, Text: "(go on)"},
			},
		},
		{
			"two system texts",
			[]model.Message{{Role: turn.System, Text: "a"}, user, {Role: turn.System, Text: "b"}},
			[]model.Message{{Role: turn.System, Text: "a\n\nb"}, user},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := prompt.Repair(c.in); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %s\nwant %s", compact(got), compact(c.want))
			}
		})
	}
}

func TestRepairOfArguments(t *testing.T) {
	for given, want := range map[string]string{
		``: `{}`, `null`: `{}`, `[1]`: `{}`, `{"a":`: `{}`, `{}{}`: `{}`, "{\"a\":\"\xff\"}": "{\"a\":\"\uFFFD\"}", ` {"b":1, "a":2} `: ` {"b":1, "a":2} `,
		`{"a":"\ud83d\ude00"}`: `{"a":"\ud83d\ude00"}`, `{"a":"\\ud800"}`: `{"a":"\\ud800"}`,
		`{"a":"\ud800","n":12345678901234567890}`: "{\"a\":\"\uFFFD\",\"n\":12345678901234567890}", `{"a":"\ude00\ud83d"}`: "{\"a\":\"\uFFFD\uFFFD\"}",
	} {
		got := prompt.Repair([]model.Message{{Role: turn.Assistant, Calls: []turn.Call{{ID: "a", Tool: "read", Arguments: given}}}})
		if got := got[1].Calls[0].Arguments; got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
}

// Pictures stay with their message, and nowhere else.
func TestRepairKeepsPictures(t *testing.T) {
	images := []model.Image{{Digest: "d", Label: "photo"}}
	got := prompt.Repair([]model.Message{
		{Role: turn.User, Text: "look", Images: images}, {Role: turn.Assistant, Text: "ok", Images: images}, {Role: turn.User, Text: "and?"},
	})
	if len(got) != 3 || len(got[0].Images) != 1 || got[1].Images != nil || got[2].Images != nil {
		t.Errorf("got %s", compact(got))
	}
}
