package files

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

func TestCatalogue(t *testing.T) {
	levels := map[string]toolv1.Level{
		"read_file": toolv1.L0, "list_dir": toolv1.L0, "search_files": toolv1.L0, "recall": toolv1.L0, "now": toolv1.L0,
		"write_file": toolv1.L1, "edit_file": toolv1.L1, "remember": toolv1.L2,
	}
	tools := Tools(Options{Now: time.Now})
	if len(tools) != len(levels) {
		t.Errorf("%d tools, want %d", len(tools), len(levels))
	}
	for _, k := range tools {
		if want, ok := levels[k.Name]; !ok || k.Level != want {
			t.Errorf("%s has level %s, want %s", k.Name, k.Level, want)
		}
		if k.Again != (k.Level == toolv1.L0) {
			t.Errorf("%s: again is %v", k.Name, k.Again)
		}
		if k.Timeout <= 0 || k.Run == nil || k.Description == "" || len(k.Description) > 300 || k.Egress != toolv1.NoEgress {
			t.Errorf("%s is incomplete", k.Name)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(k.Schema, &schema); err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		if err := resolved.Validate(map[string]any{"surprise": 1}); err == nil {
			t.Errorf("%s takes any argument", k.Name)
		}
		for name, p := range schema.Properties {
			if p.Description == "" || p.Type == "" {
				t.Errorf("%s: %s has no description or type", k.Name, name)
			}
		}
		for _, name := range slices.Concat(k.Paths, k.Fixes, schema.Required) {
			if schema.Properties[name] == nil {
				t.Errorf("%s has no argument %s", k.Name, name)
			}
		}
		for _, word := range []string{"$schema", "anyOf", "format", "pattern\":\"", "null"} {
			if strings.Contains(string(k.Schema), word) {
				t.Errorf("%s: %s is not understood by every provider", k.Name, word)
			}
		}
	}
	if a, b := Tools(Options{Now: time.Now}), tools; a[0].Digest() != b[0].Digest() {
		t.Error("the digest of a tool is not always the same")
	}
}

func TestClockIsRequired(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Tools(Options{})
}

func TestNow(t *testing.T) {
	b := newBench(t, nil)
	for zone, want := range map[string]string{
		"":                 "2026-03-01T09:30:00Z, Sunday, week 2026-W09, zone UTC (UTC), unix 1772357400",
		"Europe/Berlin":    "2026-03-01T10:30:00+01:00, Sunday, week 2026-W09, zone Europe/Berlin (CET), unix 1772357400",
		"Asia/Tokyo":       "2026-03-01T18:30:00+09:00, Sunday, week 2026-W09, zone Asia/Tokyo (JST), unix 1772357400",
		"America/New_York": "2026-03-01T04:30:00-05:00, Sunday, week 2026-W09, zone America/New_York (EST), unix 1772357400",
	} {
		if got := b.ok("now", args{"zone": zone}).Text; got != want {
			t.Errorf("%s: %s", zone, got)
		}
	}
	for _, zone := range []string{"Nowhere/Land", "../../etc/passwd", "/etc/localtime", "Europe/Berlin\n"} {
		b.refused("now", args{"zone": zone}, "is not known here")
	}
}

func TestWithoutWorkspace(t *testing.T) {
	b := newBench(t, nil)
	for _, dir := range []string{"", b.at("gone")} {
		b.dir = dir
		words := "no workspace"
		if dir != "" {
			words = "cannot be opened: no such file"
		}
		b.refused("read_file", args{"path": "a"}, words)
		b.refused("list_dir", args{}, words)
		b.refused("search_files", args{"pattern": "a"}, words)
		b.refused("write_file", args{"path": "a", "content": "x"}, words)
		b.refused("edit_file", args{"path": "a", "old": "x", "new": "y"}, words)
		b.refused("remember", args{"text": "x"}, words)
		b.refused("recall", args{}, words)
	}
}
