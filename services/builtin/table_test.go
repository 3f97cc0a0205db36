package builtin

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jetclaw/jetclaw/bus/actor/actortest"
	"github.com/jetclaw/jetclaw/bus/bustest"
)

func keys() (ed25519.PublicKey, ed25519.PrivateKey) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	return key.Public().(ed25519.PublicKey), key
}

// TestTable keeps the one table of what each tool may do: a change of it is a change of what runs unasked.
func TestTable(t *testing.T) {
	public, _ := keys()
	s, err := New(Config{
		Conn: bustest.New(t, Spec()).Connect(t, Spec().Name), Key: public, Log: slog.New(slog.DiscardHandler),
		Web: Web{Search: Search{Provider: "brave", Key: "a-key-of-brave"}}, Exec: &Exec{Sandbox: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tool\tlevel\tegress\tmay be repeated\tresult\talways holds for\ttime limit")
	for _, e := range s.Catalogue().Tools {
		var taints []string
		if e.Untrusted {
			taints = append(taints, "untrusted")
		}
		if e.Private {
			taints = append(taints, "private")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%s\t%s\t%s\n", e.Name, e.Level, e.Egress, e.Again, strings.Join(taints, " "), strings.Join(e.Fixes, " "), e.Timeout)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	actortest.Files(t, func(*testing.T, string) string { return b.String() })
}

// TestKnown: whoever checks a name against these finds all that there can be.
func TestKnown(t *testing.T) {
	public, _ := keys()
	s, err := New(Config{
		Conn: bustest.New(t, Spec()).Connect(t, Spec().Name), Key: public, Log: slog.New(slog.DiscardHandler),
		Web: Web{Search: Search{Provider: "brave", Key: "a-key-of-brave"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, e := range Known() {
		known[e.Name] = true
	}
	for name := range s.tools {
		if !known[name] {
			t.Errorf("%s is not known", name)
		}
	}
	if !known["exec"] || len(known) != len(s.tools)+1 {
		t.Errorf("known: %v", known)
	}
}
