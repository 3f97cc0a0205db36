package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/chat"
	"github.com/jetclaw/jetclaw/loadtest/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/marker"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// people write in the chats of a fake Telegram, each chat at a pace of its own, whether or not somebody is there to read it.
type people struct {
	fake  *faketelegram.Server
	run   string
	rooms []*room
	work  sync.WaitGroup

	done, taps atomic.Int64 // updates so far; taps of them

	mu   sync.Mutex
	said []chat.Said // guarded by mu; in order within each chat
}

// room is a chat and who is in it. It has one user at a time.
type room struct {
	faketelegram.Chat
	n       int // of its markers
	members []faketelegram.User
	session session.ID
	rnd     *rand.Rand
	count   int   // of markers so far
	recent  []int // texts that may be edited
	serial  int   // of albums
}

// pace of one chat: so many updates, about so far apart.
type pace struct {
	updates int
	gap     time.Duration
}

const (
	firstUser  = 500_000_000
	firstGroup = -1_001_000_000_000
	members    = 3 // of a group
	remembered = 3 // texts that may be edited
	burstMost  = 5
	albumMost  = 4
)

// newPeople makes chats of which the last groups are groups.
func newPeople(fake *faketelegram.Server, run string, seed uint64, chats, groups int) (*people, error) {
	p := &people{fake: fake, run: run}
	for i := range chats {
		r := &room{n: i, rnd: rand.New(rand.NewPCG(seed, uint64(i)+2))}
		person := func(k int) faketelegram.User {
			id := int64(firstUser + members*i + k)
			return faketelegram.User{ID: id, FirstName: fmt.Sprintf("Person %d", id-firstUser), LanguageCode: "en"}
		}
		r.members = []faketelegram.User{person(0)}
		r.Chat = faketelegram.Private(r.members[0])
		if i >= chats-groups {
			r.Chat = faketelegram.Supergroup(firstGroup-int64(i), fmt.Sprintf("Group %d", i))
			for k := 1; k < members; k++ {
				r.members = append(r.members, person(k))
			}
		}
		var err error
		if r.session, err = session.New("main", "telegram", "bot", fmt.Sprint(r.ID)); err != nil {
			return nil, err
		}
		p.rooms = append(p.rooms, r)
	}
	return p, nil
}

// groups are the ids of those chats that are some.
func (p *people) groups() []int64 {
	var out []int64
	for _, r := range p.rooms {
		if r.ID < 0 {
			out = append(out, r.ID)
		}
	}
	return out
}

// write has them write so many updates within about span.
func (p *people) write(ctx context.Context, updates int, span time.Duration) {
	for i, r := range p.rooms {
		share := updates / len(p.rooms)
		if i < updates%len(p.rooms) {
			share++
		}
		if share > 0 {
			p.work.Go(func() { p.live(ctx, r, pace{share, span / time.Duration(share)}) })
		}
	}
}

func (p *people) wait() { p.work.Wait() }

func (p *people) live(ctx context.Context, r *room, at pace) {
	rest := time.Duration(r.rnd.Float64() * float64(at.gap))
	for left := at.updates; left > 0; {
		if !wait(ctx, rest) {
			return
		}
		n := p.act(r, left)
		left -= n
		p.done.Add(int64(n))
		rest = time.Duration(2 * r.rnd.Float64() * float64(at.gap) * float64(n))
	}
}

// act does one thing, of at most so many updates, and says of how many it was.
func (p *people) act(r *room, most int) int {
	switch at := r.rnd.Float64(); {
	case at < 0.14 && most > 1:
		n := min(2+r.rnd.IntN(burstMost-1), most)
		for range n - 1 {
			p.text(r)
		}
		if r.rnd.IntN(3) == 0 { // at once: it waits behind the others still
			p.edit(r, 1)
		} else {
			p.text(r)
		}
		return n
	case at < 0.17 && most > 1:
		n := min(2+r.rnd.IntN(albumMost-1), most)
		p.album(r, n)
		return n
	case at < 0.25 && len(r.recent) > 0:
		p.edit(r, len(r.recent))
	case at < 0.29:
		p.files(r, "picture", faketelegram.Photo)
	case at < 0.31:
		p.files(r, "voice", faketelegram.Voice)
	case at < 0.33:
		p.files(r, "document", faketelegram.Document)
	case at < 0.40:
		p.say(r, chat.Said{What: chat.Command, Text: []string{"/status", "/help"}[r.rnd.IntN(2)]})
	case at < 0.43:
		p.say(r, chat.Said{What: chat.Message, Files: []string{stickerDigest}}, faketelegram.Sticker("🦀"))
	case at < 0.47 && p.tap(r):
	case at < 0.50:
		p.malformed(r)
	case at < 0.52 && r.ID > 0: // in a group the lines of a text are indented, and a table is none any more
		p.message(r, table(r.rnd))
	default:
		p.text(r)
	}
	return 1
}

func (p *people) mark(r *room) string {
	r.count++
	return marker.New(p.run, r.n, r.count)
}

// text is a plain one, now and then with a command that jetclaw does not have.
func (p *people) text(r *room) {
	id := p.message(r, words(r.rnd))
	r.recent = append(r.recent, id)
	r.recent = r.recent[max(0, len(r.recent)-remembered):]
}

func (p *people) message(r *room, text string) int {
	m := p.mark(r)
	text = m + " " + text
	if r.rnd.IntN(20) == 0 {
		text = "/remember " + text
	}
	return p.say(r, chat.Said{What: chat.Message, Marker: m, Text: text})
}

// say sends it and writes down that it did.
func (p *people) say(r *room, s chat.Said, opts ...faketelegram.Option) int {
	s.Chat, s.Session = r.ID, r.session
	s.ID = p.fake.Say("", r.Chat, r.members[r.rnd.IntN(len(r.members))], s.Text, opts...)
	p.note(s)
	return s.ID
}

func (p *people) note(s chat.Said) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, s)
}

// told is all that was said so far.
func (p *people) told() []chat.Said {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

func (p *people) files(r *room, name string, with func(faketelegram.Attachment) faketelegram.Option) {
	s := chat.Said{What: chat.Message, Marker: p.mark(r)}
	a, digest := attachment(name, s.Marker)
	if s.Files = []string{digest}; r.rnd.IntN(4) > 0 {
		s.Text = s.Marker + " " + words(r.rnd)
	}
	p.say(r, s, with(a))
}

// album is several pictures, of which the first has a caption.
func (p *people) album(r *room, n int) {
	r.serial++
	group := fmt.Sprintf("%d%05d", r.n, r.serial)
	s := chat.Said{What: chat.Message, Chat: r.ID, Session: r.session, Marker: p.mark(r)}
	s.Text = s.Marker + " " + words(r.rnd)
	from := r.members[0]
	for i := range n {
		a, digest := attachment("picture", fmt.Sprint(s.Marker, i))
		caption := ""
		if i == 0 {
			caption = s.Text
		}
		id := p.fake.Say("", r.Chat, from, caption, faketelegram.Photo(a), faketelegram.Album(group))
		s.Files = append(s.Files, digest)
		if i == 0 {
			s.ID = id
		} else {
			s.More = append(s.More, id)
		}
	}
	p.note(s)
}

// edit gives one of the last so many texts another one; its marker stays.
func (p *people) edit(r *room, of int) {
	id := r.recent[len(r.recent)-1-r.rnd.IntN(of)]
	s := chat.Said{What: chat.Edit, Chat: r.ID, Session: r.session, ID: id}
	for _, o := range p.told() {
		if o.Chat == r.ID && o.ID == id && o.What == chat.Message {
			r.count++
			s.Text = fmt.Sprintf("%s edited %d %s", o.Marker, r.count, words(r.rnd))
		}
	}
	p.fake.Edit("", r.ID, id, s.Text)
	p.note(s)
}

// tap presses a button that no message has; false when the bot has not written here yet.
func (p *people) tap(r *room) bool {
	list := p.fake.Messages(r.ID)
	if len(list) == 0 {
		return false
	}
	p.fake.Tap(r.ID, list[r.rnd.IntN(len(list))].ID, "old:"+p.mark(r), r.members[0])
	p.taps.Add(1)
	return true
}

// malformed is an update that nobody can read: a few kinds of them can be had only once.
func (p *people) malformed(r *room) {
	n := r.rnd.IntN(len(unreadable))
	if r.rnd.IntN(3) > 0 {
		n %= numbered
	}
	m := p.mark(r)
	raw := fmt.Sprintf(unreadable[n], m)
	p.note(chat.Said{What: chat.Malformed, Marker: m, Text: raw, Once: n >= numbered}) // before it can be there
	p.fake.Inject(json.RawMessage(raw))
}
