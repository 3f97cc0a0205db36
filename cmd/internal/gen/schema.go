package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jetclaw/jetclaw/schemas/registry"
)

const (
	schemaDir = "schemas/json"
	dialect   = "https://json-schema.org/draft/2020-12/schema"
	idPrefix  = "https://jetclaw.dev/schemas/"
)

func schemaFile(typ string) string { return schemaDir + "/" + typ + ".json" }

func jsonSchemas(d *docs) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, typ := range registry.All() {
		s, err := schemaOf(d, typ)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", typ.Name, err)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			return nil, fmt.Errorf("write schema of %s: %w", typ.Name, err)
		}
		files[schemaFile(typ.Name)] = b.Bytes()
	}
	return files, nil
}

func schemaOf(d *docs, typ registry.Type) (*jsonschema.Schema, error) {
	t := reflect.TypeOf(typ.Zero)
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {}, // a tool's own JSON
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return nil, err
	}
	s.Schema, s.ID, s.Title, s.Description = dialect, idPrefix+typ.Name+".json", typ.Name, d.typeDoc(t)
	annotate(d, s, t)
	return s, nil
}

// annotate puts comments and allowed values into an inferred schema, and opens it: a reader has to accept fields that
// are added later.
func annotate(d *docs, s *jsonschema.Schema, t reflect.Type) {
	for _, v := range d.values[t.PkgPath()+"."+t.Name()] {
		s.Enum = append(s.Enum, v.text)
		if v.doc != "" {
			s.Description = joined(s.Description, v.text+": "+v.doc)
		}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		annotate(d, s, t.Elem())
	case t.Kind() == reflect.Slice && s.Items != nil:
		annotate(d, s.Items, t.Elem())
	case t.Kind() == reflect.Struct && s.Properties != nil:
		s.AdditionalProperties = nil
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[name]
			if f.Anonymous || p == nil {
				continue
			}
			if p.Description = d.fieldDoc(t, f); p.Description == "" {
				p.Description = d.typeDoc(f.Type)
			}
			annotate(d, p, f.Type)
		}
	}
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
