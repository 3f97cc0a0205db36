package chat

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// aside is an update that was kept because nobody can read it.
func (c *court) aside(s session.ID, cursor uint64, b messagev1.Quarantined) {
	m := marker.First(b.Data)
	if i := slices.IndexFunc(c.ev.Said, func(s Said) bool { return s.Marker == m && s.What == Malformed }); m == "" || i < 0 {
		c.say(judge.Wrong, s, cursor, "an update that can be read was kept aside (%s): %.120q", b.Reason, b.Data)
		return
	}
	c.kept[m]++
}

func (c *court) malformed() {
	for _, s := range c.ev.Said {
		if s.What != Malformed {
			continue
		}
		c.counts.Malformed++
		switch n := c.kept[s.Marker]; {
		case n == 0 && !s.Once:
			c.say(judge.Lost, "", 0, "the malformed update %s is not in the journal: %.120q", s.Marker, s.Text)
		case n > 1:
			c.say(judge.Doubled, "", 0, "the malformed update %s is in the journal %d times", s.Marker, n)
		}
		c.counts.Kept += min(1, c.kept[s.Marker])
	}
}

// excused are refusals that break no promise: a person has waited too long for the answer to a tap; a message says already what an
// edit, which may have been made before a kill, is to make it say.
var excused = []string{"query is too old", "message is not modified"}

// messenger holds what the messenger has counted against the rules.
func (c *court) messenger() {
	r := c.ev.Report
	none := func(k judge.Kind, n int, what string) {
		if n != 0 {
			c.say(k, "", 0, "%d %s", n, what)
		}
	}
	v := r.Violations
	none(judge.Wrong, v.Chat, "messages came sooner after another one in their private chat than the limits allow")
	none(judge.Wrong, v.Group, "messages were more than the limits allow a group")
	none(judge.Wrong, v.Overall, "messages were more than the limits allow the bot")
	none(judge.Wrong, v.Edit, "edits came sooner after another one than the limits allow")
	none(judge.Wrong, v.Held, "messages went to a chat that was held")
	none(judge.Wrong, r.TooMany, "calls exceeded the limits")
	none(judge.Wrong, r.Overlaps, "polls came while another one waited")
	none(judge.Wrong, r.Conflicts, "polls were ended by another one")
	none(judge.Wrong, r.Deletes, "messages were deleted")
	none(judge.Lost, r.Pending, "updates wait unconfirmed")
	for _, text := range slices.Sorted(maps.Keys(r.Refused)) {
		if !slices.ContainsFunc(excused, func(e string) bool { return strings.Contains(text, e) }) {
			c.say(judge.Wrong, "", 0, "%d calls were refused: %s", r.Refused[text], text)
		}
	}
	if v.Chat > 0 {
		c.tooSoon()
	}
	c.patience()
}

// tooSoon names the pairs of messages that came too soon after each other in a private chat, so that their story is told.
func (c *court) tooSoon() {
	for sid, l := range c.sessions {
		var before *sight
		for _, s := range inOrder(c.shown[l.chat]) {
			if s.Chat < 0 || s.At.IsZero() {
				break
			}
			if before != nil && s.At.Sub(before.At) < time.Second-early {
				between := "no kill"
				if c.killed(before.At, s.At) {
					between = "a kill"
				}
				c.say(judge.Wrong, sid, 0, "message %d came %s after message %d, with %s between them",
					s.ID, s.At.Sub(before.At).Round(time.Millisecond), before.ID, between)
			}
			before = s
		}
	}
}

func (c *court) killed(from, to time.Time) bool {
	return slices.ContainsFunc(c.ev.Kills, func(k time.Time) bool { return !k.Before(from) && !k.After(to) })
}

var retryAfter = regexp.MustCompile(`retry after (\d+)`)

// early is by how much a call may come too soon: two clocks look at it.
const early = 50 * time.Millisecond

// patience: whoever is told to come back later does, unless they were killed and do not remember.
func (c *court) patience() {
	calls := slices.Clone(c.ev.Calls)
	slices.SortStableFunc(calls, func(a, b faketelegram.Call) int { return a.At.Compare(b.At) })
	type hold struct{ from, until time.Time }
	held := map[int64]hold{}
	for _, call := range calls {
		if !writes(call.Method) {
			continue
		}
		h := held[call.Chat]
		if call.At.Before(h.until.Add(-early)) && !c.killed(h.from, call.At) {
			c.say(judge.Wrong, "", 0, "%s to chat %d came %s before it was to be tried again",
				call.Method, call.Chat, h.until.Sub(call.At).Round(time.Millisecond))
		}
		if m := retryAfter.FindStringSubmatch(call.Description); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits
			end := call.At.Add(call.Took)
			held[call.Chat] = hold{end, end.Add(time.Duration(n) * time.Second)}
			c.counts.Held++
		}
	}
}

func writes(method string) bool {
	return method == "sendMessage" || strings.HasPrefix(method, "editMessage")
}
