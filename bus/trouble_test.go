package bus

import (
	"testing"
	"time"
)

func TestTrouble(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	var x trouble
	told := func(s int, want string) {
		t.Helper()
		if got := x.now(at(s)); got != want {
			t.Errorf("after %d s: %q, want %q", s, got, want)
		}
	}
	told(0, "")
	x.sign("deaf", at(1)) // an election
	x.sign("deaf", at(3))
	told(4, "")
	told(20, "")
	for s := 30; s <= 60; s += 2 {
		x.sign("deaf", at(s))
	}
	told(61, "deaf")
	told(66, "deaf")
	told(67, "")
	x.sign("deaf", at(80))
	told(81, "")
	x.lose()
	told(82, "its consumer is gone")
	x.find()
	told(83, "")
}
