package faketelegram

import (
	"math"
	"time"
)

// Limits on what a bot sends. Telegram's FAQ names one message a second in a chat, 20 a minute in a group and 30 a second over
// all, "short bursts" allowed, and promises none of it. So there are two measures: what exceeds the lenient one (with bursts)
// is refused with 429, and what exceeds the strict one is counted as a violation (Report).
type Limits struct {
	Off bool // nothing is refused or counted; polls are not slowed down either

	Chat         time.Duration // between two messages in a private chat; default 1 s
	ChatBurst    int           // messages that may come at once; default 3
	Group        int           // messages a minute in a group; default 20
	Overall      int           // messages a second; default 30
	OverallBurst int           // default the same as Overall
	Edit         time.Duration // between two edits in a chat; default 1 s
	EditBurst    int           // default 5
	Hold         time.Duration // how long a chat is held that exceeded the limit, at least; default 3 s
	Slack        time.Duration // by how much the strict measure may be missed, for the way over the wire; default 50 ms
}

func (l Limits) withDefaults() Limits {
	l.Chat = orElse(l.Chat, time.Second)
	l.ChatBurst = orElse(l.ChatBurst, 3)
	l.Group = orElse(l.Group, 20)
	l.Overall = orElse(l.Overall, 30)
	l.OverallBurst = orElse(l.OverallBurst, l.Overall)
	l.Edit = orElse(l.Edit, time.Second)
	l.EditBurst = orElse(l.EditBurst, 5)
	l.Hold = orElse(l.Hold, 3*time.Second)
	l.Slack = orElse(l.Slack, 50*time.Millisecond)
	return l
}

// Violations are calls that came sooner than the strict measure allows, whether they were refused or not.
type Violations struct {
	Chat    int // sooner than Limits.Chat after the last message in a private chat
	Group   int // one too many within a minute
	Overall int // one too many within a second
	Edit    int // sooner than Limits.Edit after the last edit in the chat
	Held    int // while the chat was held by a 429
}

// Sum is all of them.
func (v Violations) Sum() int { return v.Chat + v.Group + v.Overall + v.Edit + v.Held }

// pace is the history of one thing that is limited.
type pace struct {
	spent float64 // of the burst
	at    time.Time
	held  time.Time // until then
	log   []time.Time
}

// limiter has no clock and no lock; both are its owner's.
type limiter struct {
	Limits
	chats, edits map[int64]*pace
	all          pace
	bad          Violations
}

func newLimiter(l Limits) *limiter {
	return &limiter{Limits: l, chats: map[int64]*pace{}, edits: map[int64]*pace{}}
}

func of(m map[int64]*pace, chat int64) *pace {
	if m[chat] == nil {
		m[chat] = &pace{}
	}
	return m[chat]
}

// refill says how long it takes until one more fits into the burst.
func (p *pace) refill(every time.Duration, burst int, now time.Time) time.Duration {
	p.spent = max(0, p.spent-float64(now.Sub(p.at))/float64(every))
	p.at = now
	if over := p.spent + 1 - float64(burst); over > 1e-9 {
		return time.Duration(over * float64(every))
	}
	return 0
}

// recent is how many there were within the window, and when the first of them leaves it. Older ones are forgotten.
func (p *pace) recent(window time.Duration, now time.Time) int {
	n := 0
	for n < len(p.log) && !p.log[n].After(now.Add(-window)) {
		n++
	}
	p.log = p.log[n:]
	return len(p.log)
}

func (p *pace) done(now time.Time) {
	p.spent++
	p.log = append(p.log, now)
}

// send asks for one message in a chat. What it returns is how many seconds to wait; 0: it may be sent, and counts.
func (l *limiter) send(chat int64, group bool, now time.Time) int {
	if l.Off {
		return 0
	}
	p := of(l.chats, chat)
	if wait := p.held.Sub(now); wait > 0 {
		l.bad.Held++
		return seconds(wait)
	}
	if l.all.recent(time.Second-l.Slack, now) >= l.Overall {
		l.bad.Overall++
	}
	var wait time.Duration
	if group {
		if n := p.recent(time.Minute, now); n >= l.Group {
			wait = p.log[n-l.Group].Add(time.Minute).Sub(now)
			if wait > l.Slack {
				l.bad.Group++
			} else {
				wait = 0
			}
		}
	} else {
		if p.recent(l.Chat-l.Slack, now) > 0 {
			l.bad.Chat++
		}
		wait = p.refill(l.Chat, l.ChatBurst, now)
	}
	if wait > 0 {
		wait = max(wait, l.Hold)
		p.held = now.Add(wait)
		return seconds(wait)
	}
	if wait = l.all.refill(time.Second/time.Duration(l.Overall), l.OverallBurst, now); wait > 0 {
		return seconds(wait)
	}
	p.done(now)
	l.all.done(now)
	return 0
}

// edit asks for one edit in a chat, as send does.
func (l *limiter) edit(chat int64, now time.Time) int {
	if l.Off {
		return 0
	}
	p := of(l.edits, chat)
	if wait := p.held.Sub(now); wait > 0 {
		l.bad.Held++
		return seconds(wait)
	}
	if p.recent(l.Edit-l.Slack, now) > 0 {
		l.bad.Edit++
	}
	if wait := p.refill(l.Edit, l.EditBurst, now); wait > 0 {
		wait = max(wait, l.Hold)
		p.held = now.Add(wait)
		return seconds(wait)
	}
	p.done(now)
	return 0
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// Hold makes every message of the bot to the chat a 429 for so long.
func (s *Server) Hold(name string, chat int64, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of(s.bot(name).limits.chats, chat).held = s.o.Now().Add(d)
}
