package faketelegram

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

const (
	maxHookWait   = 60 // of WebhookRetry
	maxRetryAfter = 3600
	secretHeader  = "X-Telegram-Bot-Api-Secret-Token" //nolint:gosec // its name
)

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// hook posts a bot's updates to an address: those of one lane one after the other, each until it is taken.
type hook struct {
	url, secret string
	ctx         context.Context //nolint:containedctx // ends with the webhook
	cancel      context.CancelFunc
	slots       chan struct{}       // has room for max_connections
	lanes       map[int64][]*update // a lane that is here has a goroutine; guarded by Server.mu
	failed      time.Time           // guarded by Server.mu
	failure     string              // guarded by Server.mu
}

func (s *Server) setWebhook(q *query) (any, error) {
	b, to, now := q.bot, q.args["url"], s.o.Now()
	if to == "" {
		return s.deleteWebhook(q)
	}
	if now.Sub(b.lastHook) < time.Second && !s.o.Limits.Off {
		return nil, tooMany(1)
	}
	b.lastHook = now
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") { // Telegram wants https
		return nil, bad("invalid webhook URL specified")
	}
	secret := q.args["secret_token"]
	switch {
	case len(secret) > 256:
		return nil, bad("secret token is too long")
	case !secretForm.MatchString(secret):
		return nil, bad("secret token contains unallowed characters")
	}
	size := 40
	if n := q.int("max_connections"); n != 0 {
		size = int(min(max(n, 1), 100))
	}
	b.allow(q.args["allowed_updates"])
	drop := q.bool("drop_pending_updates")
	if h := b.hook; h != nil && h.url == to && h.secret == secret && cap(h.slots) == size && !drop {
		return described{true, "Webhook is already set"}, nil
	}
	if drop {
		b.drop()
	}
	b.endPoll("Conflict: terminated by setWebhook request")
	b.unhook()
	h := &hook{url: to, secret: secret, slots: make(chan struct{}, size), lanes: map[int64][]*update{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	b.hook = h
	for _, u := range b.queue {
		s.feed(b, h, u)
	}
	return described{true, "Webhook was set"}, nil
}

func (s *Server) deleteWebhook(q *query) (any, error) {
	if q.bool("drop_pending_updates") {
		q.bot.drop()
	}
	if q.bot.hook == nil {
		return described{true, "Webhook is already deleted"}, nil
	}
	q.bot.unhook()
	return described{true, "Webhook was deleted"}, nil
}

func (b *bot) unhook() {
	if b.hook != nil {
		b.hook.cancel()
		b.hook = nil
	}
}

// drop forgets all that waits.
func (b *bot) drop() {
	for _, u := range b.queue {
		u.done = true // for the webhook that has it
	}
	b.queue, b.waiting = nil, 0
}

func (s *Server) getWebhookInfo(q *query) (any, error) {
	info := struct {
		URL         string   `json:"url"`
		Certificate bool     `json:"has_custom_certificate"`
		Pending     int      `json:"pending_update_count"`
		ErrorDate   int64    `json:"last_error_date,omitempty"`
		Error       string   `json:"last_error_message,omitempty"`
		Connections int      `json:"max_connections,omitempty"`
		Address     string   `json:"ip_address,omitempty"`
		Allowed     []string `json:"allowed_updates,omitempty"`
	}{Pending: q.bot.waiting, Allowed: q.bot.allowed}
	if h := q.bot.hook; h != nil {
		info.URL, info.Connections, info.Address = h.url, cap(h.slots), "127.0.0.1"
		if h.failure != "" {
			info.ErrorDate, info.Error = h.failed.Unix(), h.failure
		}
	}
	return info, nil
}

// feed adds an update to its lane; s.mu is held.
func (s *Server) feed(b *bot, h *hook, u *update) {
	lane, runs := h.lanes[u.lane]
	h.lanes[u.lane] = append(lane, u)
	select {
	case <-s.closing: // nothing begins any more
	default:
		if !runs {
			s.wg.Go(func() { s.run(b, h, u.lane) })
		}
	}
}

// run posts what is in a lane until there is nothing.
func (s *Server) run(b *bot, h *hook, lane int64) {
	for {
		s.mu.Lock()
		if len(h.lanes[lane]) == 0 {
			delete(h.lanes, lane)
			s.mu.Unlock()
			return
		}
		u := h.lanes[lane][0]
		h.lanes[lane] = h.lanes[lane][1:]
		s.mu.Unlock()
		if !s.deliver(b, h, u) {
			return
		}
	}
}

// deliver posts an update until it is taken or too old. False: the webhook is no more.
func (s *Server) deliver(b *bot, h *hook, u *update) bool {
	delay := 1
	for fails := 0; ; fails++ {
		if s.o.Now().After(u.dies) {
			s.shed(b, u, false)
			return true
		}
		after, err := s.post(h, u)
		if h.ctx.Err() != nil && err != nil {
			return false
		}
		if err == nil {
			s.shed(b, u, true)
			return true
		}
		s.mu.Lock()
		s.count.hookFails++
		h.failed, h.failure = s.o.Now(), err.Error()
		s.changed()
		s.mu.Unlock()
		wait := time.Duration(after) * time.Second
		if after == 0 && fails > 0 { // the first time at once
			delay = min(maxHookWait, delay*2)
			wait = time.Duration(delay) * s.o.WebhookRetry
		}
		if !s.pause(h.ctx, wait) {
			return false
		}
	}
}

// shed takes an update out of the queue.
func (s *Server) shed(b *bot, u *update, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.done {
		return // dropped meanwhile, or taken through the webhook before
	}
	u.done = true
	b.waiting--
	if taken {
		s.count.confirmed++
		b.remember(u)
	}
	n := 0
	for n < len(b.queue) && b.queue[n].done {
		n++
	}
	b.queue = b.queue[n:]
	s.changed()
}

// wrongAnswer is the status of a webhook that did not take an update, in Telegram's words.
type wrongAnswer string

func (w wrongAnswer) Error() string { return "Wrong response from the webhook: " + string(w) }

// post makes one try; after is Retry-After.
func (s *Server) post(h *hook, u *update) (after int, err error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-h.ctx.Done():
		return 0, h.ctx.Err()
	}
	r, err := http.NewRequestWithContext(h.ctx, http.MethodPost, h.url, bytes.NewReader(u.raw))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		r.Header.Set(secretHeader, h.secret)
	}
	s.mu.Lock()
	s.count.sent++
	s.mu.Unlock()
	res, err := s.hooks.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody))
	if res.StatusCode/100 != 2 {
		after, _ = strconv.Atoi(res.Header.Get("Retry-After"))
		return min(max(after, 0), maxRetryAfter), wrongAnswer(res.Status)
	}
	return 0, nil
}
