package pricedata_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/internal/pricedata"
	"github.com/jetclaw/jetclaw/services/turns/price"
)

func TestTheDataCanBeRead(t *testing.T) {
	tab, err := price.Parse(pricedata.JSON())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ref, vendor   string
		input, output int64
		window        int
	}{
		{"claude/claude-sonnet-4-5-20250929", "anthropic", 3_000_000, 15_000_000, 200_000},
		{"claude/claude-opus-4-1-20250805", "anthropic", 15_000_000, 75_000_000, 200_000},
		{"claude/claude-opus-4-5", "anthropic", 5_000_000, 25_000_000, 200_000},
		{"claude/claude-haiku-5-5", "anthropic", 100_000, 500_000, 1_000_000},
		{"openai/gpt-4o-2024-08-06", "openai", 2_500_000, 10_000_000, 128_000},
		{"openai/gpt-4o-mini", "openai", 150_000, 600_000, 128_000},
		{"openai/gpt-5-nano-2025-08-07", "openai", 50_000, 400_000, 400_000},
	} {
		p, ok := tab.Of(c.ref, c.vendor)
		if w := tab.Window(c.ref, c.vendor); !ok || p.Input != c.input || p.Output != c.output || w != c.window {
			t.Errorf("%s: %+v, %t, window %d", c.ref, p, ok, w)
		}
	}
	for _, unknown := range []string{"openai/gpt-4o-realtime-preview", "openai/gpt-5-pro", "openai/qwen3"} {
		if p, ok := tab.Of(unknown, "openai"); ok {
			t.Errorf("%s has the price %+v of another", unknown, p)
		}
	}
}
