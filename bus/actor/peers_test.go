package actor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/bus"
)

// scripted is a worker that answers as the script says, one answer after the other; then the last one for ever.
type scripted struct {
	Peers
	script []bus.Answer
	asked  int
}

func (s *scripted) AskWorker(context.Context, string, bus.ClaimRef) bus.Answer {
	a := s.script[min(s.asked, len(s.script)-1)]
	s.asked++
	return a
}

// TestWhatCountsAsDead: absent twice, a second apart; silent for AckWait without a word in between.
func TestWhatCountsAsDead(t *testing.T) {
	const every = 1200 * time.Millisecond
	for name, c := range map[string]struct {
		script []bus.Answer
		dead   time.Duration // when it first counts as dead; 0: never within a minute
	}{
		"absent":                    {[]bus.Answer{bus.Absent}, every},
		"silent":                    {[]bus.Answer{bus.Silent}, 5 * every},
		"absent once":               {[]bus.Answer{bus.Absent, bus.Busy}, 0},
		"absent, back, absent":      {[]bus.Answer{bus.Absent, bus.Busy, bus.Absent, bus.Busy}, 0},
		"silent now and then":       {[]bus.Answer{bus.Silent, bus.Silent, bus.Silent, bus.Busy, bus.Silent, bus.Silent, bus.Busy}, 0},
		"busy":                      {[]bus.Answer{bus.Busy}, 0},
		"free":                      {[]bus.Answer{bus.Busy, bus.Free}, every},
		"silence between absences":  {[]bus.Answer{bus.Absent, bus.Silent, bus.Absent, bus.Silent, bus.Busy}, 0},
		"silence and then absences": {[]bus.Answer{bus.Silent, bus.Absent}, 2 * every},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeers(&scripted{script: c.script})
				begun, dead := time.Now(), time.Duration(0)
				for time.Since(begun) < time.Minute && dead == 0 {
					o := p.ask(t.Context(), "w", bus.ClaimRef{})
					if o.Answer == bus.Absent || o.Answer == bus.Free || o.Answer == bus.Silent && o.lasted >= silence {
						dead = max(time.Since(begun), 1)
					}
					time.Sleep(every)
				}
				if dead != c.dead {
					t.Errorf("counts as dead after %s, want %s", dead, c.dead)
				}
			})
		})
	}
}

// TestAbsenceIsAskedOnce: a dead worker with many sessions is asked once a second, not once a session.
func TestAbsenceIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &scripted{script: []bus.Answer{bus.Absent}}
		p := newPeers(port)
		for range 3 {
			for range 100 {
				p.ask(t.Context(), "w", bus.ClaimRef{})
			}
			time.Sleep(absence)
		}
		if port.asked != 3 {
			t.Errorf("asked %d times", port.asked)
		}
	})
}
