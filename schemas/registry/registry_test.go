package registry_test

import (
	"regexp"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
)

func TestNamesAreWellFormed(t *testing.T) {
	name, owner := regexp.MustCompile(`^[a-z]+\.[a-z]+\.v[1-9][0-9]*$`), regexp.MustCompile(`^([a-z]+|\*)$`)
	seen := map[string]bool{}
	for _, typ := range registry.All() {
		if !name.MatchString(typ.Name) || typ.Name != typ.Zero.EventType() || seen[typ.Name] {
			t.Errorf("%q is no name, or is there twice", typ.Name)
		}
		seen[typ.Name] = true
		if _, suffixed := typ.Zero.(envelope.Suffixed); !owner.MatchString(typ.Owner) || typ.Owner == "*" && !suffixed {
			t.Errorf("%s: owner %q (\"*\" is for types with a suffix)", typ.Name, typ.Owner)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ typ, data string }{
		{"turn.started.v99", `{}`}, {"", `{}`}, {"turn.started", `{}`}, {"turn.started.v1", ``}, {"turn.started.v1", `[]`}, {"turn.started.v1", `{"round":"1"}`},
	} {
		if b, err := registry.Decode(c.typ, []byte(c.data)); err == nil || b != nil {
			t.Errorf("Decode(%q, %s) = %+v, %v", c.typ, c.data, b, err)
		}
	}
}

// An older reader passes over fields that a newer writer added.
func TestDecodePassesOverNewFields(t *testing.T) {
	b, err := registry.Decode("session.reset.v1", []byte(`{"by":"e1","added":{"later":true}}`))
	if err != nil || b.EventType() != "session.reset.v1" {
		t.Fatalf("%+v, %v", b, err)
	}
}

func TestAllIsACopy(t *testing.T) {
	registry.All()[0].Name = "spoilt"
	if registry.All()[0].Name == "spoilt" {
		t.Fatal("a caller can change the list")
	}
}
