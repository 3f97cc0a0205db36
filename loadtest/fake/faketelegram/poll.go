package faketelegram

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

const (
	maxPoll     = 50               // seconds
	gather      = time.Millisecond // after the first update of a long poll
	conflictGap = 3 * time.Second
)

func (s *Server) getUpdates(q *query) (any, error) {
	b := q.bot
	s.mu.Lock()
	s.count.polls++
	if b.hook != nil {
		s.mu.Unlock()
		return nil, s.conflict(q, "Conflict: can't use getUpdates method while webhook is active; "+
			"use deleteWebhook to delete the webhook first")
	}
	limit, timeout := 100, min(max(q.int("timeout"), 0), maxPoll)
	if n := q.int("limit"); n != 0 {
		limit = int(min(max(n, 1), 100))
	}
	b.allow(q.args["allowed_updates"])
	offset, now := q.int("offset"), s.o.Now()
	if offset == b.lastOffset && !s.o.Limits.Off { // whoever asks the same again is slowed down
		if timeout < 3 && now.Sub(b.lastPoll) < 3*time.Second {
			timeout = 3
		}
		if now.Sub(b.lastPoll) < time.Second/2 {
			limit = 1
		}
	}
	b.lastOffset, b.lastPoll = offset, now
	if b.poll != nil {
		s.count.overlaps++
	}
	s.count.confirmed += b.settle(offset)
	got := b.take(limit, now)
	s.count.sent += len(got)
	s.changed()
	if len(got) > 0 || timeout == 0 {
		s.mu.Unlock()
		return array(got), nil
	}
	p := &poll{wake: make(chan struct{}, 1), end: make(chan string, 1)}
	b.endPoll("Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
	b.poll = p
	s.mu.Unlock()
	return s.longPoll(q, p, limit, time.Duration(timeout)*time.Second)
}

// endPoll ends the poll that waits; s.mu is held.
func (b *bot) endPoll(why string) {
	if b.poll != nil {
		b.poll.end <- why // nobody else has ended it: it would not be here
		b.poll = nil
	}
}

func (s *Server) longPoll(q *query, p *poll, limit int, timeout time.Duration) (any, error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	gone := false
	select {
	case <-p.wake:
		gone = !s.pause(q.ctx, gather) // what comes with it goes with it
	case why := <-p.end:
		return nil, s.conflict(q, why)
	case <-t.C:
	case <-q.ctx.Done():
		gone = true
	case <-s.closing:
		gone = true
	}
	s.mu.Lock()
	if q.bot.poll != p {
		s.mu.Unlock()
		return nil, s.conflict(q, <-p.end)
	}
	q.bot.poll = nil
	if gone {
		s.mu.Unlock()
		return nil, errGone
	}
	got := q.bot.take(limit, s.o.Now())
	s.count.sent += len(got)
	s.changed()
	s.mu.Unlock()
	return array(got), nil
}

// conflict is a 409, which comes later when there was one just now.
func (s *Server) conflict(q *query, why string) error {
	s.mu.Lock()
	if q.bot.revoked {
		s.mu.Unlock()
		return refuse(http.StatusUnauthorized, "Unauthorized")
	}
	s.count.conflicts++
	s.changed()
	now, wait := s.o.Now(), time.Duration(0)
	if now.Before(q.bot.lastConflict.Add(conflictGap)) && !s.o.Limits.Off {
		wait = conflictGap
	} else {
		q.bot.lastConflict = now
	}
	s.mu.Unlock()
	if !s.pause(q.ctx, wait) {
		return errGone
	}
	return refuse(http.StatusConflict, why)
}

// array joins updates as they are: some are not JSON.
func array(list [][]byte) json.RawMessage {
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'})
}
