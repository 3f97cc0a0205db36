package prober

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/user/client"
)

func received(cursor, prev uint64, id, text string) client.Event {
	return client.Event{Cursor: cursor, Prev: prev, ID: id, Type: receivedType, Data: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))}
}

func completed(cursor, prev uint64, answers ...string) client.Event {
	b, _ := json.Marshal(map[string]any{"answers": answers})
	return client.Event{Cursor: cursor, Prev: prev, ID: fmt.Sprint("e", cursor), Type: completedType, Data: b}
}

func started(cursor, prev uint64) client.Event {
	return client.Event{Cursor: cursor, Prev: prev, ID: fmt.Sprint("e", cursor), Type: "turn.started.v1", Data: json.RawMessage(`{}`)}
}

// The first event that is wrong is found, and of which kind.
func TestSee(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []client.Event
		want   Kind
		late   uint64
	}{
		{"right", []client.Event{received(5, 4, "a", "A"), started(7, 5), completed(9, 7, "a"), received(10, 9, "b", "B"), completed(12, 10, "b")}, "", 1},
		{"a gap", []client.Event{received(5, 4, "a", "A"), completed(9, 7, "a")}, Order, 0},
		{"backwards", []client.Event{received(5, 4, "a", "A"), started(5, 4)}, Order, 0},
		{"twice there", []client.Event{received(5, 4, "a", "A"), received(6, 5, "a", "A")}, Doubled, 0},
		{"twice answered", []client.Event{received(5, 4, "a", "A"), completed(6, 5, "a"), completed(7, 6, "a")}, Doubled, 1},
		{"answered before", []client.Event{completed(5, 4, "a")}, Order, 0},
		{"another text", []client.Event{received(5, 4, "a", "B")}, Text, 0},
		{"of an attempt long over", []client.Event{received(5, 4, "old", "A"), completed(6, 5, "old"), received(7, 6, "b", "B")}, "", 2},
		{"no event", []client.Event{{Cursor: 5, Type: receivedType, Data: json.RawMessage(`[]`)}}, Events, 0},
	} {
		s := &session{cursor: 4, sent: []sent{{id: "a", text: "A"}, {id: "b", text: "B"}}}
		var err error
		for _, e := range c.events {
			if err = s.see(e); err != nil {
				break
			}
		}
		var kind Kind
		if f, ok := errors.AsType[*Failure](err); ok {
			kind = f.Kind
		}
		if kind != c.want || s.late != c.late {
			t.Errorf("%s: %v, %d late; want %q, %d", c.name, err, s.late, c.want, c.late)
		}
	}
}

// What was wrong once is not found again.
func TestTheCursorMovesOn(t *testing.T) {
	s := &session{cursor: 4, sent: []sent{{id: "a", text: "A"}}}
	if s.see(received(5, 4, "a", "B")) == nil || s.cursor != 5 {
		t.Errorf("cursor %d", s.cursor)
	}
	if err := s.see(started(6, 5)); err != nil {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	p := New(Config{})
	p.stats.began = time.Unix(100, 0)
	p.stats.add(30*time.Millisecond, 0, nil)
	p.stats.add(2*time.Minute, 3, nil)
	p.stats.add(time.Second, 0, fmt.Errorf("wrapped: %w", wrong(Order, "x")))
	p.stats.last = time.Unix(200, 5e6)
	var b strings.Builder
	p.Metrics(&b)
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("metrics are\n%s", b.String())
	}
	if n, good := p.Counts(); n != 3 || good != 2 {
		t.Errorf("%d attempts, %d good", n, good)
	}
}
