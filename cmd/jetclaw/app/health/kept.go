package health

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Kept says whether a snapshot of today's version is what a machine folds from the events up to it. ok is false as well when it
// lies on no event of the session; why says so.
func Kept(m recheck.Machine, id session.ID, snap bus.Snapshot, events []envelope.Event) (ok bool, why string) {
	defer func() {
		if v := recover(); v != nil {
			ok, why = false, fmt.Sprintf("the machine panics: %v", v)
		}
	}()
	f := m.On(id)
	found := false
	for _, ev := range events {
		if ev.Cursor > snap.Cursor {
			break
		}
		f.Apply(ev)
		found = ev.Cursor == snap.Cursor
	}
	if !found {
		return false, fmt.Sprintf("event %d, up to which it is, is none of the session", snap.Cursor)
	}
	state, err := json.Marshal(f.State())
	if err != nil {
		return false, err.Error()
	}
	same, err := sameJSON(state, snap.State)
	switch {
	case err != nil:
		return false, err.Error()
	case !same:
		return false, fmt.Sprintf("folding %d events gives something else", len(events))
	}
	return true, ""
}

// sameJSON compares as values: neither spaces nor the order of names count.
func sameJSON(a, b []byte) (bool, error) {
	var values [2]any
	for i, data := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&values[i]); err != nil {
			return false, fmt.Errorf("it cannot be read: %w", err)
		}
	}
	return reflect.DeepEqual(values[0], values[1]), nil
}
