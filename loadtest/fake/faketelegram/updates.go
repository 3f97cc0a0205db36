package faketelegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxBatch   = 4 << 20
	updateTTL  = 24 * time.Hour
	tapTTL     = 150 * time.Second // an update of a tap is worth nothing later
	remembered = 1000              // confirmed updates that can be replayed
	farAhead   = 10                // an offset further beyond the last update is not believed
)

// update waits for its bot.
type update struct {
	id   int64
	raw  json.RawMessage // the whole object
	lane int64           // a webhook gets one at a time of each lane
	dies time.Time
	once bool // is not there any more once it was sent: it has no id that could confirm it
	done bool // a webhook took it
}

// bot is a bot with what waits for it. All is guarded by Server.mu.
type bot struct {
	Bot
	revoked bool
	queue   []*update // in the order of ids
	waiting int       // of the queue, that are not done
	next    int64     // id of the next update
	past    []*update // the last confirmed
	allowed []string  // nil: all but optIn
	poll    *poll     // that waits
	hook    *hook
	limits  *limiter
	menus   map[string][]command

	lastOffset   int64
	lastPoll     time.Time
	lastConflict time.Time
	lastHook     time.Time
}

// poll is one getUpdates that waits.
type poll struct {
	wake chan struct{} // has room for one
	end  chan string   // has room for one: why it ends with 409
}

// kinds of updates that have a name in allowed_updates; optIn are those that one must ask for.
var (
	kinds = []string{
		"message", "edited_message", "channel_post", "edited_channel_post", "inline_query", "chosen_inline_result",
		"callback_query", "shipping_query", "pre_checkout_query", "poll", "poll_answer", "my_chat_member", "chat_member",
		"chat_join_request", "chat_boost", "removed_chat_boost", "message_reaction", "message_reaction_count",
		"business_connection", "business_message", "edited_business_message", "deleted_business_messages",
		"purchased_paid_media", "managed_bot", "guest_message",
	}
	optIn = []string{"chat_member", "message_reaction", "message_reaction_count"}
)

func newBot(token string, b Bot, l Limits) *bot {
	if b.ID == 0 {
		id, _, _ := strings.Cut(token, ":")
		b.ID, _ = strconv.ParseInt(id, 10, 64)
	}
	b.Username = orElse(b.Username, "test_bot")
	b.Name = orElse(b.Name, "Test")
	b.FirstUpdate = orElse(b.FirstUpdate, 870000001)
	return &bot{Bot: b, next: b.FirstUpdate, lastOffset: -1 << 62, limits: newLimiter(l), menus: map[string][]command{}}
}

func (b *bot) user() User {
	return User{ID: b.ID, IsBot: true, FirstName: b.Name, Username: b.Username}
}

func (s *Server) getMe(q *query) (any, error) {
	return struct {
		User
		CanJoin   bool `json:"can_join_groups"`
		CanRead   bool `json:"can_read_all_group_messages"`
		CanInline bool `json:"supports_inline_queries"`
	}{User: q.bot.user(), CanJoin: true}, nil
}

// allow remembers allowed_updates; what is not a list of names changes nothing, and a list of unknown names is the default.
func (b *bot) allow(arg string) {
	var names []string
	if arg == "" || json.Unmarshal([]byte(arg), &names) != nil {
		return
	}
	for i, n := range names {
		names[i] = strings.ToLower(n)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(kinds, n) })
	if len(names) == 0 {
		names = nil
	}
	b.allowed = names
}

func (b *bot) allows(kind string) bool {
	if b.allowed == nil {
		return !slices.Contains(optIn, kind)
	}
	return slices.Contains(b.allowed, kind)
}

// tell queues an update for a bot, unless it does not want such; s.mu is held.
func (s *Server) tell(b *bot, kind string, lane int64, ttl time.Duration, body any) {
	if !b.allows(kind) {
		return
	}
	raw := fmt.Appendf(nil, `{"update_id":%d,%q:`, b.next, kind)
	raw = append(append(raw, encode(body)...), '}')
	s.enqueue(b, &update{id: b.next, raw: raw, lane: lane, dies: s.o.Now().Add(ttl)})
	b.next++
}

// enqueue wakes whoever waits for an update; s.mu is held.
func (s *Server) enqueue(b *bot, u *update) {
	s.count.updates++
	b.queue = append(b.queue, u)
	b.waiting++
	switch {
	case b.hook != nil:
		s.feed(b, b.hook, u)
	case b.poll != nil:
		select {
		case b.poll.wake <- struct{}{}:
		default:
		}
	}
	s.changed()
}

// forget takes n updates from the head of the queue; they are confirmed.
func (b *bot) forget(n int) (confirmed int) {
	for _, u := range b.queue[:n] {
		if u.done {
			continue
		}
		b.waiting--
		if !u.once {
			confirmed++
			b.remember(u)
		}
	}
	clear(b.queue[:n])
	b.queue = b.queue[n:]
	return confirmed
}

func (b *bot) remember(u *update) {
	b.past = append(b.past, u)
	b.past = b.past[max(0, len(b.past)-remembered):]
}

// settle applies an offset, as Telegram's queue does: it confirms all before it, a negative one all but the last so many,
// and one too far ahead nothing at all. It returns how many are confirmed.
func (b *bot) settle(offset int64) int {
	n := 0
	switch {
	case offset < 0:
		n = max(0, len(b.queue)+int(max(offset, -int64(len(b.queue)))))
	case offset < b.next+farAhead:
		for n < len(b.queue) && (b.queue[n].id < offset || b.queue[n].done) {
			n++
		}
	}
	return b.forget(n)
}

// take returns what there is for one answer.
func (b *bot) take(limit int, now time.Time) [][]byte {
	var got [][]byte
	left, kept := maxBatch, b.queue[:0:0]
	for i, u := range b.queue {
		if u.done {
			continue
		}
		if now.After(u.dies) {
			b.waiting--
			continue
		}
		if left -= 50 + len(u.raw); len(got) == limit || (left <= 0 && len(got) > 0) {
			kept = append(kept, b.queue[i:]...)
			break
		}
		got = append(got, u.raw)
		if u.once {
			b.waiting--
		} else {
			kept = append(kept, u)
		}
	}
	b.queue = kept
	return got
}
