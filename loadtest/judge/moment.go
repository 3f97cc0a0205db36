package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Moments say how many kills came while something was going on in at least one session, by the journal.
type Moments struct {
	Compaction int `json:"compaction"` // a compaction was claimed
	Stop       int `json:"stop"`       // a stop was not carried out yet
	Waiting    int `json:"waiting"`    // a message waited beside a turn that runs in queue mode steer
	Steered    int `json:"steered"`    // a turn ran that a message had joined
	Rounds     int `json:"rounds"`     // a turn was in its second round or later
	Calls      int `json:"calls"`      // a turn waited for a tool call
	Claims     int `json:"claims"`     // a tool call was claimed: it may have run or not
}

// scene is what goes on in one session.
type scene struct {
	queue      string
	compaction bool
	stops      map[string]bool
	waiting    map[string]bool
	turn       string
	round      int
	began      int             // messages of the turn's first claim
	messages   int             // of the last
	calls      map[string]bool // that have no outcome; true when they are claimed
}

// MomentsOf reads the journal up to each kill. Both are in order of time; queue is the agent's mode.
func MomentsOf(journal []envelope.Event, queue string, kills []time.Time) Moments {
	scenes := map[session.ID]*scene{}
	var m Moments
	next := 0
	for _, killed := range kills {
		for ; next < len(journal) && !journal[next].Time.After(killed); next++ {
			e := journal[next]
			s := scenes[e.Session]
			if s == nil {
				s = &scene{queue: queue, stops: map[string]bool{}, waiting: map[string]bool{}, calls: map[string]bool{}}
				scenes[e.Session] = s
			}
			s.fold(e, queue)
		}
		m.look(scenes)
	}
	return m
}

func (m *Moments) look(scenes map[session.ID]*scene) {
	count := func(n *int, f func(*scene) bool) {
		for _, s := range scenes {
			if f(s) {
				*n++
				return
			}
		}
	}
	count(&m.Compaction, func(s *scene) bool { return s.compaction })
	count(&m.Stop, func(s *scene) bool { return len(s.stops) > 0 })
	count(&m.Waiting, func(s *scene) bool { return s.turn != "" && s.queue == steer && len(s.waiting) > 0 })
	count(&m.Steered, func(s *scene) bool { return s.turn != "" && s.messages > s.began })
	count(&m.Calls, func(s *scene) bool { return len(s.calls) > 0 })
	count(&m.Claims, func(s *scene) bool { return slices.Contains(slices.Collect(maps.Values(s.calls)), true) })
	count(&m.Rounds, func(s *scene) bool { return s.turn != "" && s.round > 1 })
}

func (s *scene) fold(e envelope.Event, queue string) {
	switch b := e.Body.(type) {
	case messagev1.Received:
		s.waiting[e.ID] = true
	case messagev1.Control:
		if b.Verb == messagev1.Stop {
			s.stops[e.ID] = true
		}
	case turnv1.Started:
		s.compaction, s.turn, s.began = false, b.Turn, len(b.Messages)
		s.claim(b.Claim)
	case turnv1.Continued:
		s.claim(b.Claim)
	case turnv1.Resumed:
		s.claim(b.Claim)
	case turnv1.Stepped:
		for _, c := range b.Calls {
			if c.Refusal == "" && c.Answer == "" {
				s.calls[c.ID] = false
			}
		}
	case callv1.Started:
		s.calls[b.Call] = true
	case callv1.Completed:
		delete(s.calls, b.Call)
	case callv1.Denied:
		delete(s.calls, b.Call)
	case turnv1.Completed:
		s.end()
	case turnv1.Failed:
		s.end()
	case turnv1.Cancelled:
		for _, id := range b.Answers {
			delete(s.waiting, id)
		}
		if b.Turn != "" {
			s.end()
		}
	case turnv1.CompactionStarted:
		s.compaction = true
	case turnv1.SessionCompacted, turnv1.CompactionFailed, turnv1.SessionReset:
		s.compaction = false
	case turnv1.SessionConfigured:
		if b.Setting != turnv1.QueueSetting {
			break
		}
		if s.queue = b.Value; s.queue == "" {
			s.queue = queue
		}
	}
	for _, id := range answersOf(e.Body) {
		delete(s.stops, id)
	}
}

func (s *scene) claim(c turnv1.Claim) {
	s.round, s.messages = c.Round, len(c.Messages)
	for _, id := range c.Messages {
		delete(s.waiting, id)
	}
}

func (s *scene) end() {
	clear(s.calls)
	s.turn, s.round, s.began, s.messages, s.compaction = "", 0, 0, 0, false
}
