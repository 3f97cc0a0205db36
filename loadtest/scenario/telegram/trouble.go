package telegram

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
)

const (
	troubleMin  = 100 * time.Millisecond
	troubleMore = 900 * time.Millisecond
	conflicts   = 2               // of a run: each is waited out for seconds
	pollGap     = 8 * time.Second // from one trouble of a poll to the next: whoever polls waits longer after each that follows another
	sendGap     = 5               // messages from one trouble of a send to the next: while none are sent, what is arranged would pile up

	otherPoller = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)

// trouble arranges faults of the fake Telegram until ctx ends, and counts them by name.
func trouble(ctx context.Context, fake *faketelegram.Server, rooms []*people.Room, rnd *rand.Rand) map[string]int {
	count := map[string]int{}
	var polled time.Time
	sent := -sendGap
	for pace.Wait(ctx, troubleMin+time.Duration(rnd.Float64()*float64(troubleMore))) {
		name, f := drawFault(rnd, rooms)
		switch what, _, _ := strings.Cut(name, ":"); what {
		case "poll":
			if name == conflict && count[name] >= conflicts || time.Since(polled) < pollGap {
				continue
			}
			polled = time.Now()
		case "send":
			now := fake.Report().Messages
			if now < sent+sendGap {
				continue
			}
			sent = now
		}
		count[name]++
		if name == replay {
			fake.Replay("", 1+rnd.IntN(10))
			continue
		}
		fake.Fail(f)
	}
	fake.Heal()
	return count
}

const (
	conflict = "poll: 409"
	replay   = "poll: known updates again"
)

// drawFault draws one.
func drawFault(rnd *rand.Rand, rooms []*people.Room) (string, faketelegram.Fault) {
	slow := time.Duration(rnd.Int64N(int64(2 * time.Second)))
	type named struct {
		weight int
		name   string
		fault  faketelegram.Fault
	}
	all := []named{
		{6, "send: done, no answer", faketelegram.Fault{Method: "sendMessage", After: true, Close: true}},
		{3, "send: no answer", faketelegram.Fault{Method: "sendMessage", Close: true}},
		{3, "send: 502 of a proxy", faketelegram.Fault{Method: "sendMessage", HTML: true}},
		{3, "send: done, 502 of a proxy", faketelegram.Fault{Method: "sendMessage", After: true, HTML: true}},
		{3, "send: 500", faketelegram.Fault{Method: "sendMessage", Status: http.StatusInternalServerError}},
		{4, "send: 429", faketelegram.Fault{
			Method: "sendMessage", Chat: rooms[rnd.IntN(len(rooms))].ID, Status: http.StatusTooManyRequests, RetryAfter: 1 + rnd.IntN(3),
		}},
		{4, "send: slow", faketelegram.Fault{Method: "sendMessage", Delay: slow}},
		{2, "send: half an answer", faketelegram.Fault{Method: "sendMessage", After: true, Garbage: true}},
		{2, "edit: done, no answer", faketelegram.Fault{Method: "editMessageText", After: true, Close: true}},
		{1, conflict, faketelegram.Fault{Method: "getUpdates", Status: http.StatusConflict, Description: otherPoller}},
		{3, "poll: done, no answer", faketelegram.Fault{Method: "getUpdates", After: true, Close: true}},
		{2, "poll: 502 of a proxy", faketelegram.Fault{Method: "getUpdates", HTML: true}},
		{2, "poll: garbage", faketelegram.Fault{Method: "getUpdates", After: true, Garbage: true}},
		{1, "poll: 429", faketelegram.Fault{Method: "getUpdates", Status: http.StatusTooManyRequests, RetryAfter: 1}},
		{2, "poll: slow", faketelegram.Fault{Method: "getUpdates", Delay: slow}},
		{2, replay, faketelegram.Fault{}},
		{2, "start: 502", faketelegram.Fault{Method: "getMe"}},
		{1, "commands: 429", faketelegram.Fault{Method: "setMyCommands", Status: http.StatusTooManyRequests, RetryAfter: 3}},
		{2, "file: 502", faketelegram.Fault{Method: "file", HTML: true}},
		{2, "file: slow", faketelegram.Fault{Method: "file", Delay: slow}},
		{2, "tap: no answer", faketelegram.Fault{Method: "answerCallbackQuery", Close: true}},
		{1, "typing: 502", faketelegram.Fault{Method: "sendChatAction"}},
	}
	sum := 0
	for _, n := range all {
		sum += n.weight
	}
	for at := rnd.IntN(sum); len(all) > 0; all = all[1:] {
		if at -= all[0].weight; at < 0 {
			return all[0].name, all[0].fault
		}
	}
	return "", faketelegram.Fault{}
}
