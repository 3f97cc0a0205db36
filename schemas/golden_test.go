package schemas_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
)

var update = flag.Bool("update", false, "write the golden samples that are missing; one that exists is never changed")

const golden = "testdata/golden"

// stored is one message as the journal keeps it.
type stored struct {
	Cursor  uint64            `json:"cursor"`
	Subject string            `json:"subject"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func store(t rapid.TB, e envelope.Event) stored {
	t.Helper()
	body, err := json.Marshal(e.Body)
	if err != nil {
		t.Fatal(err)
	}
	s := stored{Cursor: e.Cursor, Subject: e.Subject(), Headers: map[string]string{}, Body: body}
	for name, v := range envelope.HeaderOf(e) {
		s.Headers[name] = v[0]
	}
	return s
}

func (s stored) decode() (envelope.Event, error) {
	h := envelope.Header{}
	for name, v := range s.Headers {
		h[name] = []string{v}
	}
	return envelope.Decode(s.Subject, h, s.Body, s.Cursor, registry.Decode)
}

// sampleFile is the n-th sample of a type, from 0. A field that a published type gains makes one more: the older ones stay.
func sampleFile(typ string, n int) string {
	if n > 0 {
		typ += fmt.Sprintf("+%d", n)
	}
	return filepath.Join(golden, typ+".json")
}

func TestEveryTypeHasAGoldenSample(t *testing.T) {
	bodies := map[string]envelope.Body{}
	for _, b := range samples {
		bodies[b.EventType()] = b
	}
	for _, typ := range registry.All() {
		body := bodies[typ.Name]
		if body == nil {
			t.Errorf("%s has no body in the list of samples: add one, then run go test ./schemas -update", typ.Name)
			continue
		}
		want, n := store(t, event(body)), 0
		for ; ; n++ {
			data, err := os.ReadFile(sampleFile(typ.Name, n))
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			var s stored
			var wire bytes.Buffer
			if err := errors.Join(err, json.Unmarshal(data, &s), json.Compact(&wire, s.Body)); err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(wire.Bytes(), want.Body) {
				n = -1
				break
			}
		}
		switch {
		case n < 0:
		case *update:
			write(t, sampleFile(typ.Name, n), want)
		default:
			t.Errorf("%s has no golden sample of today's form: run go test ./schemas -update and commit what it writes", typ.Name)
		}
	}
}

func write(t *testing.T, file string, s stored) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the body is written as it is on the wire, but for white space
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(golden, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Today's code reads every event that was ever published, and writes the same again.
func TestGoldenSamples(t *testing.T) {
	files, err := os.ReadDir(golden)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, typ := range registry.All() {
		known[typ.Name] = true
	}
	for _, f := range files {
		name, isSample := strings.CutSuffix(f.Name(), ".json")
		typ, _, _ := strings.Cut(name, "+")
		if !isSample || !known[typ] {
			t.Errorf("%s is no sample of a type of the registry: a published event is read for ever", f.Name())
			continue
		}
		t.Run(name, func(t *testing.T) { checkSample(t, filepath.Join(golden, f.Name()), typ) })
	}
}

func checkSample(t *testing.T, file, typ string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	var wire bytes.Buffer
	if err := json.Compact(&wire, s.Body); err != nil {
		t.Fatal(err)
	}
	s.Body = wire.Bytes()
	e, err := s.decode()
	if err != nil {
		t.Fatal(err)
	}
	if u, unknown := e.Body.(envelope.Unknown); unknown {
		t.Fatalf("cannot be read any more: %v", u.Err)
	}
	again := store(t, e)
	if e.Type() != typ || again.Subject != s.Subject || !maps.Equal(again.Headers, s.Headers) {
		t.Errorf("the envelope is written as\n%+v, was\n%+v", again, s)
	}
	if !bytes.Equal(again.Body, s.Body) {
		t.Errorf("the body is written as\n%s, was\n%s", again.Body, s.Body)
	}
}
