package botapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func FuzzPieces(f *testing.F) {
	for _, s := range []string{
		`{"ok":true,"result":[{"update_id":1}]}`, ` [ 1 , "a\"]" , {"b":[]} , null ] `, `[]`, `{}`, `{"a":{"b":"}"},"a":2}`, `[1,]`, `{"a"}`, `["\\"]`, `[`, `"`, `[[[`, `{"\u0061":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		list, isList := elements(doc)
		fields, isObject := members(doc)
		if isList && isObject {
			t.Fatal("an array and an object")
		}
		if !json.Valid(doc) {
			return // anything but a panic
		}
		var wantList []json.RawMessage
		if json.Unmarshal(doc, &wantList) == nil && wantList != nil && len(wantList) <= maxItems {
			if !isList || len(list) != len(wantList) {
				t.Fatalf("%q: %d elements, %t; want %d", doc, len(list), isList, len(wantList))
			}
			for i := range list {
				if !bytes.Equal(list[i], wantList[i]) {
					t.Fatalf("%q: element %d is %q, want %q", doc, i, list[i], wantList[i])
				}
			}
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(doc, &want) == nil && want != nil && bytes.Count(doc, []byte(":")) <= maxItems {
			if !isObject {
				t.Fatalf("%q: no object", doc)
			}
			for name, v := range want {
				if plain, err := json.Marshal(name); err == nil && bytes.Contains(doc, plain) && !bytes.Contains(doc, []byte(`\`)) && !bytes.Equal(fields[name], v) {
					t.Fatalf("%q: %s is %q, want %q", doc, name, fields[name], v)
				}
			}
		}
	})
}

func TestEndlessLists(t *testing.T) {
	if _, ok := elements([]byte("[" + strings.Repeat("0,", maxItems) + "0]")); ok {
		t.Error("a list without end was taken")
	}
	if list, ok := elements([]byte("[" + strings.Repeat("0,", maxItems-1) + "0]")); !ok || len(list) != maxItems {
		t.Errorf("%d elements, %t", len(list), ok)
	}
}
