package bus_test

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

func TestCatalog(t *testing.T) {
	srv := bustest.New(t,
		bus.Spec{Name: "builtin", Catalog: "builtin"}, bus.Spec{Name: "mcp", Catalog: "mcp"}, bus.Spec{Name: "turns", ReadsCatalog: true})
	builtin, mcp, turns := srv.Connect(t, "builtin"), srv.Connect(t, "mcp"), srv.Connect(t, "turns")
	ctx := t.Context()
	read := func() map[string][]byte {
		t.Helper()
		all, err := turns.Catalog(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := read(); len(got) != 0 {
		t.Errorf("at first: %v", got)
	}
	for _, v := range []string{"one", "two"} {
		if err := builtin.SetCatalog(ctx, "builtin", []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := mcp.SetCatalog(ctx, "mcp", []byte("three")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := read(); len(got) != 2 || string(got["builtin"]) != "two" || string(got["mcp"]) != "three" {
			t.Errorf("got %q", got)
		}
		if got, err := turns.CatalogOf(ctx, "mcp"); err != nil || string(got) != "three" {
			t.Errorf("of one: %q (%v)", got, err)
		}
		if got, err := turns.CatalogOf(ctx, "nobody"); err != nil || got != nil {
			t.Errorf("of nobody: %q (%v)", got, err)
		}
		srv.Restart()
	}
	err := builtin.SetCatalog(ctx, "builtin", []byte(strings.Repeat("x", bus.MaxCatalog+1)))
	if fault.KindOf(err) != fault.TooLarge {
		t.Errorf("too large: %v", err)
	}
}
