package schemas_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Every event of every type comes back from the wire as it was.
func TestRoundTrip(t *testing.T) {
	for _, typ := range registry.All() {
		t.Run(typ.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := draw(t, reflect.TypeOf(typ.Zero))
				got, err := store(t, want).decode()
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("came back as\n%#v, was\n%#v", got, want)
				}
			})
		})
	}
}

// draw makes an event of any content around a body of one Go type.
func draw(t *rapid.T, typ reflect.Type) envelope.Event {
	part, text := rapid.StringN(1, 20, session.MaxToken/3), rapid.String()
	id, err := session.New(part.Draw(t, "agent"), part.Draw(t, "channel"), part.Draw(t, "account"), part.Draw(t, "peer"))
	if err != nil {
		t.Fatal(err)
	}
	body := reflect.New(typ).Elem()
	fill(t, body)
	cursor := rapid.Uint64Min(1).Draw(t, "cursor")
	return envelope.Event{
		ID: rapid.StringN(1, -1, -1).Draw(t, "id"), Session: id, Cursor: cursor, Prev: rapid.Uint64Max(cursor-1).Draw(t, "prev"),
		Cause: text.Draw(t, "cause"), Source: text.Draw(t, "source"), Key: text.Draw(t, "key"), Trace: text.Draw(t, "trace"),
		Time: drawTime(t), Body: body.Interface().(envelope.Body),
	}
}

func drawTime(t *rapid.T) time.Time {
	const year9999 = 253402300799 // beyond it RFC 3339 has no form
	return time.Unix(rapid.Int64Range(0, year9999).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
}

func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(drawTime(t)))
		return
	case json.RawMessage:
		data, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "json"))
		if err != nil {
			t.Fatal(err)
		}
		v.SetBytes(data)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8().Draw(t, "byte")))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		s := reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "len"), 3)
		for i := range s.Len() {
			fill(t, s.Index(i))
		}
		v.Set(s)
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(t, f)
		}
	default:
		t.Fatalf("teach this test to fill a %s", v.Type())
	}
}
