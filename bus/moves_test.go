package bus

import (
	"testing"
	"time"
)

// TestMoves: who is in doubt goes to another server after three seconds without a sign, at once when the leader itself is cut off, and
// then less and less often until there is a sign again.
func TestMoves(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1e9, 0).Add(time.Duration(s * float64(time.Second))) }
	type look struct {
		second float64 // when it is asked
		sign   sign    // what is heard, a second later when silent
		goes   bool
	}
	for name, looks := range map[string][]look{
		"a moment": {{0, silent, false}, {1, silent, false}, {2, led, false}, {3, silent, false}, {4, silent, false}, {5, silent, true}},
		"cut off":  {{0, led, false}, {2, parted, true}, {2.5, led, false}, {4, parted, true}},
		"nobody leads anywhere": {
			{0, silent, false},
			{1, silent, false},
			{2, silent, true},
			{3, silent, false},
			{6, silent, false},
			{11, parted, false},
			{11.5, silent, false},
			{12.1, silent, true},
			{20, silent, false},
			{32, silent, false},
			{32.2, silent, true},
			{70, silent, false},
			{72.3, silent, true},
		},
		"a sign ends the pause": {{2, parted, true}, {5, led, false}, {6, parted, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var m moves
			for _, l := range looks {
				heard := at(l.second)
				if l.sign == silent {
					heard = at(l.second + 1)
				}
				if got := m.heard(l.sign, at(l.second), heard, 0.5); got != l.goes {
					t.Errorf("at %v s: %v; %+v", l.second, got, m)
				}
			}
		})
	}
}

// TestMovesGrow: however long nobody leads, the pauses have a bound, and chance spreads them.
func TestMovesGrow(t *testing.T) {
	var m moves
	now := time.Unix(1e9, 0)
	for range 20 {
		for !m.heard(parted, now, now, 1) {
			now = now.Add(time.Second)
		}
	}
	if d := m.next.Sub(now); m.pause != lastMove || d > lastMove*13/10 || d < lastMove*12/10 {
		t.Errorf("%s, %s", m.pause, d)
	}
}

func TestOfJournal(t *testing.T) {
	for subj, want := range map[string]bool{
		"ev.07.main.http.a.b.message.received": true, "$JS.API.STREAM.INFO.EV": true, "$JS.API.DIRECT.GET.EV": true,
		"$JS.API.CONSUMER.INFO.EV.turns": true, "$JS.API.STREAM.INFO.KV_snap": false, "svc.turns.delete": false, "evil.x": false,
		"$KV.snap.turns.main.http.EV.b": false, "$JS.API.DIRECT.GET.KV_snap.$KV.snap.turns.main.http.a.b": false,
	} {
		if got := ofJournal(subj); got != want {
			t.Errorf("%s: %v", subj, got)
		}
	}
}
