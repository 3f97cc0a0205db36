package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func document(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), asyncapiFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// at walks down a path like "components/messages/turn.started.v1"; nil when it leads nowhere.
func at(doc any, path string) any {
	for key := range strings.SplitSeq(path, "/") {
		m, ok := doc.(map[string]any)
		if !ok {
			return nil
		}
		doc = m[key]
	}
	return doc
}

func TestReferencesResolve(t *testing.T) {
	doc := document(t)
	refs := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, item := range v {
				target, isText := item.(string)
				if key != "$ref" || !isText {
					walk(item)
					continue
				}
				refs++
				if path, local := strings.CutPrefix(target, "#/"); local {
					if at(doc, path) == nil {
						t.Errorf("%s leads nowhere", target)
					}
				} else if _, err := os.Stat(filepath.Join(root(t), filepath.Dir(asyncapiFile), target)); err != nil {
					t.Errorf("%s: %v", target, err)
				}
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(doc)
	if refs < 5*len(registry.All()) {
		t.Errorf("only %d references", refs)
	}
}

// Each type is a message on the channel whose address its subject follows, sent by its owner.
func TestChannelsFollowTheSubjects(t *testing.T) {
	doc := document(t)
	placeholder := regexp.MustCompile(`\\\{[a-z]+\\\}`)
	for _, typ := range registry.All() {
		kind := envelope.KindOf(typ.Name)
		suffix := ""
		if _, suffixed := typ.Zero.(envelope.Suffixed); suffixed {
			suffix = "some where"
		}
		address, _ := at(doc, "channels/"+kind+"/address").(string)
		pattern := placeholder.ReplaceAllString(regexp.QuoteMeta(address), `[^.]+`)
		if subj := subject.OfEvent("main.telegram.mybot.12345", kind, suffix); !regexp.MustCompile("^" + pattern + "$").MatchString(subj) {
			t.Errorf("%s is not on %q", subj, address)
		}
		for _, name := range regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(address, -1) {
			if at(doc, "channels/"+kind+"/parameters/"+name[1]) == nil {
				t.Errorf("%s: parameter %s is not described", kind, name[1])
			}
		}
		owner := strings.ReplaceAll(typ.Owner, "*", "any")
		if got := at(doc, "operations/"+owner+"."+kind+"/action"); got != "send" {
			t.Errorf("%s.%s has action %v", owner, kind, got)
		}
		if got := at(doc, "components/messages/"+typ.Name+"/payload/$ref"); got != "json/"+typ.Name+".json" {
			t.Errorf("%s has payload %v", typ.Name, got)
		}
	}
}

// The described headers are those that HeaderOf writes, and the reference to a body kept elsewhere.
func TestHeadersAreDescribed(t *testing.T) {
	properties, _ := at(document(t), "components/schemas/envelope/properties").(map[string]any)
	written := envelope.HeaderOf(envelope.Event{ID: "1", Source: "s", Cause: "c", Key: "k", Trace: "t", Rules: "r", Body: registry.All()[0].Zero})
	written[envelope.HeaderBlob] = []string{"1"}
	for name := range written {
		if properties[name] == nil {
			t.Errorf("%s is not described", name)
		}
	}
	if len(properties) != len(written) {
		t.Errorf("%d headers are described, %d written", len(properties), len(written))
	}
}
