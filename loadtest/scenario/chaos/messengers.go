package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// messengers are the chats of a run: in some of them people write whatever people write, in others an owner has the agent do what
// asks first, and he and strangers press the buttons.
type messengers struct {
	fake   *faketelegram.Server
	people *people.People
	askers []*asker
	work   sync.WaitGroup
	calm   bool // nothing goes wrong in the run
}

// asker is a group in which an owner asks, and a stranger presses buttons, too.
type asker struct {
	n        int
	room     faketelegram.Chat
	owner    faketelegram.User
	stranger faketelegram.User
	rnd      *rand.Rand
	pressed  map[string]int // taps by approval
}

const (
	chatters       = 10
	chatterGroups  = 2
	askerRooms     = 5
	firstAsker     = 700_000_000
	firstAskerRoom = -1_002_000_000_000
	updatesASecond = 1.5              // of all chatters together
	askPause       = 12 * time.Second // a bot may say twenty things a minute in a group, and each question comes to about four
	tapPause       = 500 * time.Millisecond
	tapsMost       = 2 // of one question by its owner
	strayMost      = 1 // by strangers
	strangerShare  = 0.35
)

func newMessengers(run string, seed uint64, calm bool) (*messengers, error) {
	fake, err := faketelegram.Start(faketelegram.Options{})
	if err != nil {
		return nil, err
	}
	m := &messengers{fake: fake, calm: calm}
	if m.people, err = people.New(fake, run+"t", seed, chatters, chatterGroups); err != nil {
		fake.Close()
		return nil, err
	}
	for i := range askerRooms {
		user := func(k int) faketelegram.User {
			id := int64(firstAsker + 2*i + k)
			return faketelegram.User{ID: id, FirstName: fmt.Sprintf("Asker %d", id-firstAsker), LanguageCode: "en"}
		}
		m.askers = append(m.askers, &asker{
			n: i, owner: user(0), stranger: user(1), room: faketelegram.Supergroup(firstAskerRoom-int64(i), fmt.Sprintf("Askers %d", i)),
			rnd: rand.New(rand.NewPCG(seed, 1<<34+uint64(i))), pressed: map[string]int{},
		})
	}
	return m, nil
}

// owners are the identities of those who may decide.
func (m *messengers) owners() (out []string) {
	for _, a := range m.askers {
		out = append(out, fmt.Sprintf("telegram:%d", a.owner.ID))
	}
	return out
}

func (m *messengers) config() *daemon.Telegram {
	groups := m.people.Groups()
	for _, a := range m.askers {
		groups = append(groups, a.room.ID)
	}
	return &daemon.Telegram{Token: faketelegram.DefaultToken, APIRoot: m.fake.URL(), Groups: groups}
}

// write has everybody write for a while, until writing ends. Buttons are pressed until ctx ends.
func (m *messengers) write(ctx, writing context.Context, d *deciders, run string, span time.Duration) {
	m.people.Write(writing, max(chatters, int(span.Seconds()*updatesASecond)), span)
	until := time.Now().Add(span)
	for _, a := range m.askers {
		m.work.Go(func() { a.live(ctx, m.fake, d, run, until) })
	}
}

func (a *asker) live(ctx context.Context, fake *faketelegram.Server, d *deciders, run string, until time.Time) {
	for n, next := 0, time.Now(); pace.Wait(ctx, tapPause); {
		if now := time.Now(); now.Before(until) && now.After(next) {
			mk := marker.New(run+"a", a.n, n)
			fake.Say("", a.room, a.owner, mk+" "+crowd.CallAsk(mk)+"please")
			next = now.Add(askPause + time.Duration(a.rnd.Float64()*float64(askPause)))
			n++
		}
		for _, msg := range fake.Messages(a.room.ID) {
			a.tap(fake, d, msg)
		}
	}
}

// tap presses a button of a question, perhaps: also of one that is settled, and also who may not.
func (a *asker) tap(fake *faketelegram.Server, d *deciders, msg faketelegram.Message) {
	var buttons []approvalv1.Button
	for _, row := range msg.Markup {
		for _, b := range row {
			if x, ok := approvalv1.ParseButton(b.CallbackData); ok && x.Decision != callv1.AllowAlways {
				buttons = append(buttons, x)
			}
		}
	}
	if len(buttons) == 0 || a.rnd.IntN(3) > 0 {
		return
	}
	b := buttons[a.rnd.IntN(len(buttons))]
	who, entitled := a.owner, true
	if a.rnd.Float64() < strangerShare {
		who, entitled = a.stranger, false
		if a.pressed["stray "+b.Approval]++; a.pressed["stray "+b.Approval] > strayMost {
			return
		}
	} else if a.pressed[b.Approval]++; a.pressed[b.Approval] > tapsMost {
		return
	}
	d.mu.Lock()
	d.given = append(d.given, judge.Decision{Approval: b.Approval, Decision: b.Decision, Entitled: entitled})
	d.mu.Unlock()
	fake.Tap(a.room.ID, msg.ID, b.Data(), who)
}

// evidence of the chatters. How fast a bot may write and who may poll is kept by what processes tell each other before they call, and by
// a lease that one may believe to have for a moment when another has it: both are told, and are no promise while processes stand still
// or cannot reach the bus. In a calm run they are.
func (m *messengers) evidence(journal []envelope.Event) chat.Evidence {
	report := m.fake.Report()
	if !m.calm {
		report.Violations, report.TooMany, report.Overlaps, report.Conflicts = faketelegram.Violations{}, 0, 0, 0
	}
	ev := chat.Evidence{Said: m.people.Told(), Journal: journal, Shown: map[int64][]faketelegram.Message{}, Report: report}
	for _, r := range m.people.Rooms {
		ev.Shown[r.ID] = m.fake.Messages(r.ID)
	}
	return ev
}
