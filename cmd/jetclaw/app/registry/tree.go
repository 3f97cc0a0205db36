package registry

import (
	"bytes"
	"encoding/json"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// object is a section with its keys in order. Values are object, []string, string, bool or json.Number.
type object []entry

type entry struct {
	key   string
	value any
}

func (o object) get(key string) (any, bool) {
	for _, e := range o {
		if e.key == key {
			return e.value, true
		}
	}
	return nil, false
}

// sectionOf is a definition as a section: its settings in the order in which the type has them.
func sectionOf(d definition.Definition) object {
	raw, err := json.Marshal(d) //nolint:gosec // clientKey names a file
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	o, _ := read(dec).(object)
	return o
}

// read makes a value of the next tokens of JSON that json.Marshal has written.
func read(dec *json.Decoder) any {
	t, err := dec.Token()
	if err != nil {
		panic(err)
	}
	switch t {
	case json.Delim('{'):
		o := object{}
		for dec.More() {
			key, _ := read(dec).(string)
			o = append(o, entry{key, read(dec)})
		}
		_, _ = dec.Token()
		return o
	case json.Delim('['):
		list := []string{}
		for dec.More() {
			text, _ := read(dec).(string)
			list = append(list, text)
		}
		_, _ = dec.Token()
		return list
	}
	return t
}

// same says whether two values are written alike.
func same(a, b any) bool {
	return flowStyle{quoteKeys: true}.value(a) == flowStyle{quoteKeys: true}.value(b)
}

// verdict is what becomes of a key that is in the file.
type verdict int

const (
	keep verdict = iota
	remove
	replace
)

// decide compares what a key of the file means before and after. One that is in neither is somebody else's.
func decide(key string, old, wanted object) verdict {
	was, had := old.get(key)
	v, has := wanted.get(key)
	switch {
	case has && (!had || !same(was, v)):
		return replace
	case had && !has:
		return remove
	}
	return keep
}

// added are the entries that are not in the file.
func added(wanted object, written func(key string) bool) []entry {
	var all []entry
	for _, e := range wanted {
		if !written(e.key) {
			all = append(all, e)
		}
	}
	return all
}
