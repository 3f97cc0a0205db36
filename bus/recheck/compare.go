package recheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/machine"
)

// Compare lists where two values differ as JSON, in the order of their fields' names; at is the path of both.
func Compare(at string, then, now any) []Difference {
	a, b := decoded(then), decoded(now)
	var all []Difference
	compare(at, a, b, &all)
	return all
}

// decoded is a value as JSON has it.
func decoded(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return string(raw)
	}
	return out
}

func compare(at string, a, b any, all *[]Difference) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			compareObjects(at, x, y, all)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			compareLists(at, x, y, all)
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		*all = append(*all, Difference{Field: at, Then: text(a), Now: text(b)})
	}
}

func compareObjects(at string, a, b map[string]any, all *[]Difference) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		x, has := a[k]
		y, hasNow := b[k]
		field := k
		if at != "" {
			field = at + "." + k
		}
		switch {
		case !has:
			*all = append(*all, Difference{Field: field, Now: text(y)})
		case !hasNow:
			*all = append(*all, Difference{Field: field, Then: text(x)})
		default:
			compare(field, x, y, all)
		}
	}
}

func compareLists(at string, a, b []any, all *[]Difference) {
	for i := range max(len(a), len(b)) {
		field := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case i >= len(a):
			*all = append(*all, Difference{Field: field, Now: text(b[i])})
		case i >= len(b):
			*all = append(*all, Difference{Field: field, Then: text(a[i])})
		default:
			compare(field, a[i], b[i], all)
		}
	}
}

func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

func quoted(s string) string { return text(s) }

// Describe is a step in words: what the machine would do.
func Describe(step machine.Step) string {
	switch s := step.(type) {
	case machine.Append:
		return "append " + s.Body.EventType()
	case machine.Perform:
		return fmt.Sprintf("carry out claim %d", s.Claim)
	case machine.Held:
		return fmt.Sprintf("leave claim %d to %s until %s", s.Claim, s.Worker, s.Deadline.Format(time.RFC3339))
	case machine.Wait:
		return "wait until " + s.Until.Format(time.RFC3339)
	case nil:
		return "nothing"
	}
	return fmt.Sprintf("%T", step)
}
