package prompt

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	maxName = 64
	// Messages that stand where providers demand one.
	goOn      = "(go on)"
	leftOut   = "(what was said before is left out)"
	noName    = "unknown_tool"
	noID      = "call"
	noObject  = "{}"
	maxIDStem = 48 // of an id that gets a number
)

// Repair makes msgs a list that every provider takes: one system message at most, at the beginning; then a user's message
// first, and a user's or a result last; each call directly followed by exactly one result, in the order of the calls, and
// no result elsewhere; ids unique, ids and names of tools plain, arguments JSON objects; no empty text; valid UTF-8. A
// result that stands further away is moved to its call, unless the assistant has spoken since. A well-formed list comes
// back as it was, so Repair may be applied again. What msgs refers to is never written to.
func Repair(msgs []model.Message) []model.Message {
	r := repairer{out: make([]model.Message, 0, len(msgs)+2), used: map[string]bool{}}
	var system []string
	for i, m := range msgs {
		switch m.Role {
		case turn.System:
			if text := valid(m.Text); !blank(text) {
				system = append(system, text)
			}
		case turn.User:
			if text := valid(m.Text); !blank(text) {
				r.add(model.Message{Role: turn.User, Text: text, Images: m.Images})
			}
		case turn.Assistant:
			r.assistant(m, msgs[i+1:])
		case turn.Tool: // written with its call, or nobody's
		default: // nobody's either
		}
	}
	out := r.out
	if n := len(out); n == 0 || out[n-1].Role == turn.Assistant {
		out = append(out, model.Message{Role: turn.User, Text: goOn})
	}
	if out[0].Role != turn.User {
		out = slices.Insert(out, 0, model.Message{Role: turn.User, Text: leftOut})
	}
	if system != nil {
		out = slices.Insert(out, 0, model.Message{Role: turn.System, Text: strings.Join(system, "\n\n")})
	}
	return out
}

type repairer struct {
	out   []model.Message
	used  map[string]bool // ids
	tried map[string]int  // how many ids of a stem are known to be used
}

func (r *repairer) add(m model.Message) { r.out = append(r.out, m) }

// assistant adds m and the results of its calls, which are in after, before the assistant speaks again.
func (r *repairer) assistant(m model.Message, after []model.Message) {
	text := valid(m.Text)
	if blank(text) {
		text = ""
	}
	if len(m.Calls) == 0 {
		if text != "" {
			r.add(model.Message{Role: turn.Assistant, Text: text})
		}
		return
	}
	found := results(m.Calls, after)
	calls := m.Calls
	for i, c := range m.Calls {
		fixed := c
		fixed.ID, fixed.Tool, fixed.Arguments = r.id(c.ID), name(c.Tool), object(c.Arguments)
		if fixed != c {
			if &calls[0] == &m.Calls[0] {
				calls = slices.Clone(m.Calls)
			}
			calls[i] = fixed
		}
	}
	r.add(model.Message{Role: turn.Assistant, Text: text, Calls: calls})
	for i, c := range calls {
		r.add(model.Message{Role: turn.Tool, Text: found[i], Call: c.ID, Name: c.Tool})
	}
}

// results finds for each call the first result with its id that no call before it has taken.
func results(calls []turn.Call, after []model.Message) []string {
	end := slices.IndexFunc(after, func(m model.Message) bool { return m.Role == turn.Assistant })
	if end >= 0 {
		after = after[:end]
	}
	texts := make([]string, len(calls))
	if inOrder(calls, after) {
		for i := range calls {
			texts[i] = result(after[i].Text)
		}
		return texts
	}
	byID := map[string][]string{}
	for _, m := range after {
		if m.Role == turn.Tool {
			byID[m.Call] = append(byID[m.Call], m.Text)
		}
	}
	for i, c := range calls {
		texts[i] = noResult
		if found := byID[c.ID]; len(found) > 0 {
			texts[i], byID[c.ID] = result(found[0]), found[1:]
		}
	}
	return texts
}

// inOrder says whether each call's result stands where it belongs, as nearly always.
func inOrder(calls []turn.Call, after []model.Message) bool {
	if len(after) < len(calls) {
		return false
	}
	for i, c := range calls {
		if after[i].Role != turn.Tool || after[i].Call != c.ID {
			return false
		}
	}
	return true
}

func result(text string) string {
	if text = valid(text); blank(text) {
		return noOutput
	}
	return text
}

// id is want when it is plain and new, else one like it.
func (r *repairer) id(want string) string {
	if plain(want) && !r.used[want] {
		r.used[want] = true
		return want
	}
	stem := plainly(want)
	if stem == "" {
		stem = noID
	}
	stem = stem[:min(len(stem), maxIDStem)]
	for n := r.tried[stem]; ; n++ {
		id := stem
		if n > 0 {
			id += "_" + strconv.Itoa(n+1)
		}
		if !r.used[id] {
			if r.tried == nil {
				r.tried = map[string]int{}
			}
			r.used[id], r.tried[stem] = true, n+1
			return id
		}
	}
}

func name(tool string) string {
	if plain(tool) {
		return tool
	}
	if tool = plainly(tool); tool == "" {
		return noName
	}
	return tool[:min(len(tool), maxName)]
}

// plain says whether s can be an id or the name of a tool everywhere.
func plain(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		if !plainByte(s[i]) {
			return false
		}
	}
	return true
}

func plainByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// plainly is s with other signs replaced.
func plainly(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && plainByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
}

// object is arguments when they are a JSON object that providers can read, else an empty one. Half of a surrogate pair,
// written as an escape, is JSON for some and an error for others.
func object(arguments string) string {
	fixed := valid(arguments)
	if start := strings.TrimLeft(fixed, " \t\r\n"); start == "" || start[0] != '{' || !json.Valid([]byte(fixed)) {
		return noObject
	}
	if !halfPair(fixed) {
		return fixed
	}
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(fixed))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return noObject
	}
	again, err := json.Marshal(fields)
	if err != nil {
		return noObject
	}
	return string(again)
}

// halfPair says whether valid JSON holds an escaped surrogate without its other half.
func halfPair(s string) bool {
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '\\')
		if j < 0 {
			return false
		}
		i += j
		switch unit := escape(s[i:]); {
		case unit < 0:
			i += 2
		case unit < 0xD800 || unit > 0xDFFF:
			i += 6
		case unit >= 0xDC00:
			return true
		default:
			if low := escape(s[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 12
		}
	}
	return false
}

// escape is the code unit of the \u escape that s begins with, or -1.
func escape(s string) int {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

func valid(text string) string {
	if utf8.ValidString(text) { // the quick way
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
