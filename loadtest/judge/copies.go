package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// mostDifferences are said of a copy.
const mostDifferences = 5

// Differences says where a copy of a journal is another one.
func Differences(journal, copied []envelope.Event) (out []string) {
	if len(journal) != len(copied) {
		out = append(out, fmt.Sprintf("the copy has %d events, and the journal %d", len(copied), len(journal)))
	}
	for i := range min(len(journal), len(copied)) {
		if a, b := journal[i], copied[i]; !same(a, b) {
			out = append(out, fmt.Sprintf("the copy has %s %s of %s at cursor %d, and the journal %s %s of %s at cursor %d",
				b.Kind(), b.ID, b.Session, b.Cursor, a.Kind(), a.ID, a.Session, a.Cursor))
		}
		if len(out) >= mostDifferences {
			break
		}
	}
	return out
}

func same(a, b envelope.Event) bool {
	x, errX := json.Marshal(a.Body)
	y, errY := json.Marshal(b.Body)
	if errX != nil || errY != nil {
		return reflect.DeepEqual(a, b)
	}
	return a.ID == b.ID && a.Cursor == b.Cursor && a.Prev == b.Prev && a.Session == b.Session && a.Kind() == b.Kind() && bytes.Equal(x, y)
}
