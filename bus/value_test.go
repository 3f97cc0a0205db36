package bus_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

var keepers = []bus.Spec{{Name: "turns", Values: true}, {Name: "tools", Values: true}}

func TestValues(t *testing.T) {
	srv := bustest.New(t, keepers...)
	c, again, other := srv.Connect(t, "turns"), srv.Connect(t, "turns"), srv.Connect(t, "tools")
	ctx := t.Context()
	read := func(c *bus.Conn, key string) string {
		t.Helper()
		v, ok, err := c.Value(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return "none"
		}
		return string(v)
	}
	set := func(key, value string) {
		t.Helper()
		if err := c.SetValue(ctx, key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	const odd = "cooldown.openai/gpt 4*>"
	if got := read(c, odd); got != "none" {
		t.Errorf("at first: %s", got)
	}
	set(odd, "one")
	set(odd, "two")
	set("cooldown.openai/gpt 4", "elsewhere")
	set("empty", "")
	for key, want := range map[string]string{odd: "two", "cooldown": "none", "empty": ""} {
		if got := read(again, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := read(other, odd); got != "none" {
		t.Errorf("another service reads %q", got)
	}
	srv.Restart()
	if got := read(c, odd); got != "two" {
		t.Errorf("after a restart: %s", got)
	}
	for range 2 {
		if err := c.DropValue(ctx, odd); err != nil {
			t.Fatal(err)
		}
		if got := read(c, odd); got != "none" {
			t.Errorf("dropped: %s", got)
		}
	}
	set(odd, "three")
	if got := read(c, odd); got != "three" {
		t.Errorf("set again: %s", got)
	}
}

func TestValuesThatAreNone(t *testing.T) {
	c := bustest.New(t, keepers...).Connect(t, "turns")
	ctx := t.Context()
	for _, key := range []string{"", ".", "a.", ".a", "a..b", strings.Repeat("x", 201), strings.Repeat("/", 67), strings.Repeat("a.", 8) + "a"} {
		_, _, rerr := c.Value(ctx, key)
		for verb, err := range map[string]error{"read": rerr, "set": c.SetValue(ctx, key, nil), "drop": c.DropValue(ctx, key)} {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s %.20q: %v", verb, key, err)
			}
		}
	}
	if err := c.SetValue(ctx, "k", bytes.Repeat([]byte{0}, bus.MaxValue+1)); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("too large: %v", err)
	}
	if err := c.SetValue(ctx, "k", bytes.Repeat([]byte{0}, bus.MaxValue)); err != nil {
		t.Errorf("the largest: %v", err)
	}
}
