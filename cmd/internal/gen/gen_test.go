package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jetclaw/jetclaw/schemas/registry"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Whoever changes a contract runs the generator, or go test tells.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	want, err := generate(root(t))
	if err != nil {
		t.Fatal(err)
	}
	stale, err := differing(root(t), want)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		t.Errorf("%s is not current: run go run ./cmd/internal/gen", name)
	}
}

func TestOutputIsStable(t *testing.T) {
	first, err := generate(root(t))
	if err != nil {
		t.Fatal(err)
	}
	second, err := generate(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

func TestDifferingNamesOldMissingAndLeftOver(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{schemaFile("a.old.v1"): "old", schemaFile("a.gone.v1"): "x", asyncapiFile: "same"} {
		if err := put(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]byte{schemaFile("a.old.v1"): []byte("new"), schemaFile("a.new.v1"): []byte("new"), asyncapiFile: []byte("same")}
	stale, err := differing(dir, want)
	if err != nil {
		t.Fatal(err)
	}
	if exp := []string{schemaFile("a.new.v1"), schemaFile("a.old.v1"), schemaFile("a.gone.v1")}; !reflect.DeepEqual(stale, exp) {
		t.Fatalf("%q, want %q", stale, exp)
	}
	for _, name := range stale {
		if err := put(filepath.Join(dir, name), want[name]); err != nil {
			t.Fatal(err)
		}
	}
	if stale, err = differing(dir, want); err != nil || len(stale) > 0 {
		t.Fatalf("still %q, %v", stale, err)
	}
}

// resolved is the committed schema of a type, as another program would read it.
func resolved(t *testing.T, typ string) *jsonschema.Resolved {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), schemaFile(typ)))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if s.ID != idPrefix+typ+".json" || s.Schema != dialect || s.Title != typ {
		t.Errorf("%s says that it is %q of %q in %q", typ, s.Title, s.ID, s.Schema)
	}
	if s.Description == "" {
		t.Errorf("%s has no description: give its Go type a comment", typ)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGoldenSamplesAreValid(t *testing.T) {
	for _, typ := range registry.All() {
		data, err := os.ReadFile(filepath.Join(root(t), "schemas/testdata/golden", typ.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var sample struct {
			Body any `json:"body"`
		}
		if err := json.Unmarshal(data, &sample); err != nil {
			t.Fatal(err)
		}
		if err := resolved(t, typ.Name).Validate(sample.Body); err != nil {
			t.Errorf("%s: %v", typ.Name, err)
		}
	}
}

func TestSchemasRefuse(t *testing.T) {
	for _, c := range []struct{ typ, body, why string }{
		{"turn.started.v1", `{}`, "required"},
		{"session.reset.v1", `{"by":7}`, "type"},
		{"control.requested.v1", `{"from":{"id":"local"},"verb":"dance"}`, "enum"},
	} {
		var body any
		if err := json.Unmarshal([]byte(c.body), &body); err != nil {
			t.Fatal(err)
		}
		if err := resolved(t, c.typ).Validate(body); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s accepts %s: %v", c.typ, c.body, err)
		}
	}
}

// A reader of today accepts what a writer of tomorrow adds.
func TestSchemasAreOpen(t *testing.T) {
	body := map[string]any{"by": "k1", "added": map[string]any{"later": true}}
	if err := resolved(t, "session.reset.v1").Validate(body); err != nil {
		t.Fatal(err)
	}
}
