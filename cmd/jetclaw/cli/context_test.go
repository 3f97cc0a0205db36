package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestContext(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.lived(
		past{"a", day(t, "2026-01-01"), "what is \x1b[31mred?", "offline/echo", turnv1.Usage{}},
		past{"a", day(t, "2026-01-02"), "and blue?", "offline/echo", turnv1.Usage{}},
	)
	r := u.run("context", "a")
	r.want(t, 0)
	for _, want := range []string{
		"main.terminal.local.a, up to event 8\nmodel    offline/echo (built in)\ntokens   about ",
		"\npart ", "\ninstructions ", "\nturn p0/t ", "\nturn p1/t ", "\ntotal, about ",
		"\n--- system\n", "\n--- user\nwhat is [31mred?\n\n--- assistant\nso it was\n\n--- user\nand blue?\n\n--- assistant\nso it was\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	var got request
	r = u.run("context", "a", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	sum := 0
	for _, p := range got.Parts {
		sum += p.Tokens
	}
	if got.Session != "main.terminal.local.a" || got.Cursor != 8 || got.Models[0] != "offline/echo" || got.Window == 0 || got.Tokens != sum {
		t.Errorf("%+v", got)
	}
	if len(got.Messages) < 5 || got.Messages[1].Text != "what is \x1b[31mred?" {
		t.Errorf("%+v", got.Messages)
	}
	if n := len(u.journal()); n != 8 {
		t.Errorf("looking has left %d events", n)
	}
}

// TestContextInPages: what is too long for one answer comes in several.
func TestContextInPages(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "models: {default: p/m, providers: {p: {base_url: \""+model.URL+"/v1\", context: 1000000}}}\n")
	long := strings.Repeat("<", 50_000) // six times as long in JSON
	u.lived(
		past{"a", day(t, "2026-01-01"), "first " + long, "p/m", turnv1.Usage{}},
		past{"a", day(t, "2026-01-02"), "second " + long, "p/m", turnv1.Usage{}},
	)
	var got request
	r := u.run("context", "a", "--json")
	r.want(t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, m := range got.Messages {
		if m.Role == "user" {
			first, rest, _ := strings.Cut(m.Text, " ")
			users = append(users, first)
			if m.Text[0] != '(' && rest != long {
				t.Errorf("the %s has %d bytes", first, len(rest))
			}
		}
	}
	if got := strings.Join(users, " "); !strings.HasPrefix(got, "first second ") {
		t.Errorf("%s", got)
	}
	if model.calls.Load() != 0 {
		t.Error("the model was called")
	}
}
