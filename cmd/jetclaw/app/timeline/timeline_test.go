package timeline_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/timeline"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

var update = flag.Bool("update", false, "write the golden files anew")

func approvalID(awaiting string) string { return approval.ID(here, awaiting) }

var style = timeline.Style{Zone: time.UTC, Flat: func(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\x1b", "")), " ")
}}

func explained(s *story, later time.Duration, due ...recheck.Due) timeline.Timeline {
	return timeline.Build(s.events, due, s.at.Add(later))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is otherwise now (-update writes it):\n%s", file, got)
	}
}

func TestStories(t *testing.T) {
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			s := c.build()
			got := explained(s, c.later)
			golden(t, name+".txt", got.Text(style))
			once(t, got, s.events)
		})
	}
}

func TestGraphs(t *testing.T) {
	for _, name := range []string{"approved", "holed", "outside"} {
		chart, _ := explained(stories[name].build(), time.Minute).Mermaid()
		golden(t, name+".mmd", chart)
	}
}

func TestJSON(t *testing.T) {
	got, err := json.MarshalIndent(explained(approved(), time.Minute), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "approved.json", string(got)+"\n")
}

// TestEveryKind: the stories have all kinds of events that there are.
func TestEveryKind(t *testing.T) {
	told := map[string]bool{}
	for _, c := range stories {
		for _, ev := range c.build().events {
			told[ev.Type()] = true
		}
	}
	for _, typ := range registry.All() {
		if !told[typ.Name] {
			t.Errorf("no story has %s", typ.Name)
		}
	}
}

// once checks that each event is in the timeline once, and that the totals are those of its entries.
func once(t interface{ Errorf(string, ...any) }, got timeline.Timeline, events []envelope.Event) {
	var cursors []uint64
	var walk func([]*timeline.Entry)
	walk = func(list []*timeline.Entry) {
		for _, e := range list {
			if e.Cursor > 0 {
				cursors = append(cursors, e.Cursor)
			}
			if _, hole := e.Facts.(*timeline.Hole); e.Cursor == 0 && len(e.Entries) == 0 && !hole && e.Kind != timeline.CallKind {
				t.Errorf("%s %s is empty", e.Kind, e.ID)
			}
			walk(e.Entries)
		}
	}
	walk(got.Entries)
	slices.Sort(cursors)
	var want []uint64
	for _, ev := range events {
		want = append(want, ev.Cursor)
	}
	if !slices.Equal(cursors, want) {
		t.Errorf("the timeline has events %v, the session %v", cursors, want)
	}
	if len(got.Waiting) == 0 {
		t.Errorf("it waits for nothing, not even for nothing")
	}
}

// TestAnyOrder: whatever events come in whatever order, each is shown once and nothing breaks.
func TestAnyOrder(t *testing.T) {
	samples := samplesOf(t)
	ids := []string{"", "m1", "m2", "k1", "e7", "m1/t", "c1"}
	rapid.Check(t, func(t *rapid.T) {
		var events []envelope.Event
		at, cursor := noon, uint64(0)
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			prev := cursor
			cursor += rapid.Uint64Range(1, 3).Draw(t, "step")
			if rapid.IntRange(0, 9).Draw(t, "hole") == 0 {
				prev = rapid.Uint64Range(0, cursor-1).Draw(t, "prev")
			}
			at = at.Add(time.Duration(rapid.IntRange(-1000, 5000).Draw(t, "ms")) * time.Millisecond)
			ev := envelope.Event{
				ID: rapid.SampledFrom(ids).Draw(t, "id"), Cause: rapid.SampledFrom(ids).Draw(t, "cause"), Session: here,
				Cursor: cursor, Prev: prev, Time: at, Body: rapid.SampledFrom(samples).Draw(t, "body"),
			}
			if rapid.IntRange(0, 19).Draw(t, "timeless") == 0 {
				ev.Time = time.Time{}
			}
			events = append(events, ev)
		}
		got := timeline.Build(events, dues(t), at.Add(time.Minute))
		once(t, got, events)
		text := got.Text(style)
		for line := range strings.Lines(text) {
			if strings.ContainsRune(line, '\x1b') {
				t.Errorf("%q", line)
			}
		}
		got.Mermaid()
		if _, err := json.Marshal(got); err != nil {
			t.Error(err)
		}
		if cursor > 0 {
			since := rapid.Uint64Range(0, cursor).Draw(t, "since")
			got.Since(since).Text(style)
			one, ok := got.Turn("1")
			if ok != (got.Totals.Turns > 0) {
				t.Errorf("%d turns, and the first is there: %v", got.Totals.Turns, ok)
			}
			one.Mermaid()
		}
	})
}

// samplesOf are the golden samples of all types, and two that nobody can read.
func samplesOf(t *testing.T) []envelope.Body {
	t.Helper()
	files, err := filepath.Glob("../../../../schemas/testdata/golden/*.json")
	if err != nil || len(files) < len(registry.All()) {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	bodies := []envelope.Body{envelope.Unknown{Type: "x.y.v9"}, envelope.Unknown{Type: "turn.started.v1"}}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		typ, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "+")
		b, err := registry.Decode(typ, raw)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, b)
	}
	return bodies
}

func dues(t *rapid.T) []recheck.Due {
	steps := []machine.Step{
		machine.Append{Body: turnv1.SessionReset{}, Cause: "m1"}, machine.Append{}, machine.Wait{Until: noon}, machine.Held{}, machine.Perform{}, nil,
	}
	var list []recheck.Due
	for range rapid.IntRange(0, 3).Draw(t, "dues") {
		list = append(list, recheck.Due{
			Service: rapid.SampledFrom([]string{"turns", "tools", "approvals", "outbox", "builtin"}).Draw(t, "service"),
			Step:    rapid.SampledFrom(steps).Draw(t, "due"),
		})
	}
	return list
}

func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		story *story
		due   []recheck.Due
		want  string // services' waits, by what they are for
	}{
		"nobody takes the step": {
			answered().after(time.Minute).says("m2", "x"),
			[]recheck.Due{{Service: "turns", Step: machine.Append{Body: turnv1.Started{}, Cause: "m2"}}},
			"step: a step that is due [turns: turn.started, nobody has taken it: is the daemon running?]",
		},
		"a claim whose owner is gone": {
			asking(),
			[]recheck.Due{{Service: "turns", Step: machine.Append{Body: turnv1.Resumed{}, Cause: "t2"}}},
			"step: a step that is due [turns: turn.resumed, nobody has taken it: is the daemon running?]; turn: the end of the turn [2 waiting behind it]",
		},
		"a claim that somebody has": {
			asking(),
			[]recheck.Due{{Service: "turns", Step: machine.Held{}}},
			"model: the model's answer [local/qwen3 answered last, attempt 1, worker W1]; turn: the end of the turn [2 waiting behind it]",
		},
		"more may come": {
			newStory().says("m1", "x"),
			[]recheck.Due{{Service: "turns", Step: machine.Wait{Until: noon.Add(time.Hour)}}},
			"time: the next step [turns]",
		},
		"an executor is to start": {
			executor(),
			[]recheck.Due{{Service: "files", Part: "m1/t c1", Step: machine.Append{Body: callv1.Started{Turn: "m1/t", Call: "c1"}, Cause: "x1"}}},
			"tool: tool web_fetch, which runs [executor builtin, attempt 1, worker W1]; " +
				"step: the gate's word on read_file [tools, nobody has taken it: is the daemon running?]; " +
				"step: a step that is due [files: call.started, nobody has taken it: is the daemon running?]",
		},
		"a delivery that is due": {
			deferred(),
			[]recheck.Due{{Service: "outbox", Step: machine.Append{Body: deliveryv1.Started{}, Cause: "r2"}}},
			"step: a step that is due [outbox: delivery.started, nobody has taken it: is the daemon running?]",
		},
		"approvals wait for people": {
			parked(),
			[]recheck.Due{{Service: "approvals", Step: machine.Wait{Until: noon.Add(24 * time.Hour)}}},
			"person: a person's decision on shell [approval " + approvalID("w1") + "]",
		},
	} {
		var got []string
		for _, w := range explained(c.story, 30*time.Second, c.due...).Waiting {
			line := string(w.For) + ": " + w.What
			if len(w.Notes) > 0 {
				line += " [" + strings.Join(w.Notes, ", ") + "]"
			}
			got = append(got, line)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	all := explained(asking(), time.Second)
	for _, which := range []string{"2", "m2/t", "m2"} {
		one, ok := all.Turn(which)
		if !ok || len(one.Entries) != 1 || one.Entries[0].ID != "m2" {
			t.Errorf("turn %s: %v, %+v", which, ok, one.Entries)
		}
	}
	for _, which := range []string{"0", "3", "-1", "m9", ""} {
		if _, ok := all.Turn(which); ok {
			t.Errorf("there is a turn %q", which)
		}
	}
	if got := all.Since(17).Entries; len(got) != 2 || got[0].ID != "m3" {
		t.Errorf("since 17: %+v", got)
	}
	if got := all.Since(16).Entries; len(got) != 3 || got[0].ID != "m2" || len(got[0].Entries) != 1 {
		t.Errorf("since 16: %+v", got)
	}
	if got := all.Since(all.Last).Entries; len(got) != 0 {
		t.Errorf("since the end: %+v", got)
	}
	if len(all.Entries) != 4 {
		t.Errorf("the whole has %d entries now", len(all.Entries))
	}
}

// TestGraphLabels: no text comes out of its label.
func TestGraphLabels(t *testing.T) {
	evil := "x\"]\n  e1 --> e2\n%%{init: {}}%% <script> `md` #quot; style a:b#c; ::: click \u202e end"
	s := newStory().says("m1", evil)
	s.add("t1", "m1", turnv1.Started{Claim: turnv1.Claim{Turn: evil, Round: 1, Attempt: 1, Worker: evil, Messages: []string{"m1"}}})
	s.add("s1", "t1", turnv1.Stepped{Outcome: turnv1.Outcome{Turn: evil, Round: 1, Attempt: 1, Model: evil}, Calls: []turnv1.Call{
		{ID: evil, Tool: evil, Arguments: json.RawMessage(`"` + "x" + `"`)},
	}})
	s.add("u1", "", envelope.Unknown{Type: evil})
	chart, _ := explained(s, time.Second).Mermaid()
	golden(t, "labels.mmd", chart)
	for line := range strings.Lines(chart) {
		line = strings.TrimSpace(line)
		_, quoted, ok := strings.Cut(line, `"`)
		if !ok {
			continue
		}
		label, rest, ok := strings.Cut(quoted, `"`)
		if !ok || strings.ContainsAny(label, "\"`<>{}[]%:&|\\$*_~") || !slices.Contains([]string{"]", "])", "}}"}, rest) {
			t.Errorf("%s", line)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", time.Second: "1000", 1500 * time.Microsecond: "1.5", -time.Millisecond: "-1"} {
		raw, err := json.Marshal(timeline.Span(d))
		var back timeline.Span
		if err != nil || string(raw) != want || json.Unmarshal(raw, &back) != nil || time.Duration(back) != d {
			t.Errorf("%s is %s, and %s when read", d, raw, time.Duration(back))
		}
	}
}

// TestThousand: a long session is explained in a moment.
func TestThousand(t *testing.T) {
	s := newStory()
	for i := range 200 {
		one := answered()
		for _, ev := range one.events {
			ev.ID, ev.Cause = ev.ID+string(rune('A'+i%26))+string(rune('A'+i/26)), ""
			s.cursor++
			ev.Prev, ev.Cursor = s.cursor-1, s.cursor
			s.events = append(s.events, ev)
		}
	}
	s.events[0].Prev = 0
	began := time.Now()
	got := explained(s, time.Second)
	if took := time.Since(began); took > time.Second {
		t.Errorf("%d events took %s", len(s.events), took)
	}
	once(t, got, s.events)
}
