// Package people writes in the chats of a fake Telegram, and remembers what was said: evidence for package chat.
package people

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// People write in the chats of a fake Telegram, each chat at a pace of its own, whether or not somebody is there to read it.
type People struct {
	fake  *faketelegram.Server
	Run   string
	Rooms []*Room
	work  sync.WaitGroup

	Done, Taps atomic.Int64 // updates so far; taps of them

	mu   sync.Mutex
	said []chat.Said // guarded by mu; in order within each chat
}

// Room is a chat and who is in it. It has one user at a time.
type Room struct {
	faketelegram.Chat
	N       int // of its markers
	Members []faketelegram.User
	session session.ID
	rnd     *rand.Rand
	count   int   // of markers so far
	recent  []int // texts that may be edited
	serial  int   // of albums
}

// quota of one chat: so many updates, about so far apart.
type quota struct {
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

// New makes chats of which the last groups are groups.
func New(fake *faketelegram.Server, run string, seed uint64, chats, groups int) (*People, error) {
	p := &People{fake: fake, Run: run}
	for i := range chats {
		r := &Room{N: i, rnd: rand.New(rand.NewPCG(seed, uint64(i)+2))}
		person := func(k int) faketelegram.User {
			id := int64(firstUser + members*i + k)
			return faketelegram.User{ID: id, FirstName: fmt.Sprintf("Person %d", id-firstUser), LanguageCode: "en"}
		}
		r.Members = []faketelegram.User{person(0)}
		r.Chat = faketelegram.Private(r.Members[0])
		if i >= chats-groups {
			r.Chat = faketelegram.Supergroup(firstGroup-int64(i), fmt.Sprintf("Group %d", i))
			for k := 1; k < members; k++ {
				r.Members = append(r.Members, person(k))
			}
		}
		var err error
		if r.session, err = session.New("main", "telegram", "bot", fmt.Sprint(r.ID)); err != nil {
			return nil, err
		}
		p.Rooms = append(p.Rooms, r)
	}
	return p, nil
}

// Groups are the ids of those chats that are some.
func (p *People) Groups() []int64 {
	var out []int64
	for _, r := range p.Rooms {
		if r.ID < 0 {
			out = append(out, r.ID)
		}
	}
	return out
}

// Write has them write so many updates within about span.
func (p *People) Write(ctx context.Context, updates int, span time.Duration) {
	for i, r := range p.Rooms {
		share := updates / len(p.Rooms)
		if i < updates%len(p.Rooms) {
			share++
		}
		if share > 0 {
			p.work.Go(func() { p.live(ctx, r, quota{share, span / time.Duration(share)}) })
		}
	}
}

// Wait ends when everybody has written all.
func (p *People) Wait() { p.work.Wait() }

func (p *People) live(ctx context.Context, r *Room, at quota) {
	rest := time.Duration(r.rnd.Float64() * float64(at.gap))
	for left := at.updates; left > 0; {
		if !pace.Wait(ctx, rest) {
			return
		}
		n := p.act(r, left)
		left -= n
		p.Done.Add(int64(n))
		rest = time.Duration(2 * r.rnd.Float64() * float64(at.gap) * float64(n))
	}
}

// act does one thing, of at most so many updates, and says of how many it was.
func (p *People) act(r *Room, most int) int {
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

func (p *People) mark(r *Room) string {
	r.count++
	return marker.New(p.Run, r.N, r.count)
}

// text is a plain one, now and then with a command that jetclaw does not have.
func (p *People) text(r *Room) {
	id := p.message(r, words(r.rnd))
	r.recent = append(r.recent, id)
	r.recent = r.recent[max(0, len(r.recent)-remembered):]
}

func (p *People) message(r *Room, text string) int {
	m := p.mark(r)
	text = m + " " + text
	if r.rnd.IntN(20) == 0 {
		text = "/remember " + text
	}
	return p.say(r, chat.Said{What: chat.Message, Marker: m, Text: text})
}

// say sends it and writes down that it did.
func (p *People) say(r *Room, s chat.Said, opts ...faketelegram.Option) int {
	s.Chat, s.Session = r.ID, r.session
	s.ID = p.fake.Say("", r.Chat, r.Members[r.rnd.IntN(len(r.Members))], s.Text, opts...)
	p.note(s)
	return s.ID
}

func (p *People) note(s chat.Said) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, s)
}

// Told is all that was said so far.
func (p *People) Told() []chat.Said {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

func (p *People) files(r *Room, name string, with func(faketelegram.Attachment) faketelegram.Option) {
	s := chat.Said{What: chat.Message, Marker: p.mark(r)}
	a, digest := attachment(name, s.Marker)
	if s.Files = []string{digest}; r.rnd.IntN(4) > 0 {
		s.Text = s.Marker + " " + words(r.rnd)
	}
	p.say(r, s, with(a))
}

// album is several pictures, of which the first has a caption.
func (p *People) album(r *Room, n int) {
	r.serial++
	group := fmt.Sprintf("%d%05d", r.N, r.serial)
	s := chat.Said{What: chat.Message, Chat: r.ID, Session: r.session, Marker: p.mark(r)}
	s.Text = s.Marker + " " + words(r.rnd)
	from := r.Members[0]
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
func (p *People) edit(r *Room, of int) {
	id := r.recent[len(r.recent)-1-r.rnd.IntN(of)]
	s := chat.Said{What: chat.Edit, Chat: r.ID, Session: r.session, ID: id}
	for _, o := range p.Told() {
		if o.Chat == r.ID && o.ID == id && o.What == chat.Message {
			r.count++
			s.Text = fmt.Sprintf("%s edited %d %s", o.Marker, r.count, words(r.rnd))
		}
	}
	p.fake.Edit("", r.ID, id, s.Text)
	p.note(s)
}

// tap presses a button that no message has; false when the bot has not written here yet.
func (p *People) tap(r *Room) bool {
	list := p.fake.Messages(r.ID)
	if len(list) == 0 {
		return false
	}
	p.fake.Tap(r.ID, list[r.rnd.IntN(len(list))].ID, "old:"+p.mark(r), r.Members[0])
	p.Taps.Add(1)
	return true
}

// malformed is an update that nobody can read: a few kinds of them can be had only once.
func (p *People) malformed(r *Room) {
	n := r.rnd.IntN(len(unreadable))
	if r.rnd.IntN(3) > 0 {
		n %= numbered
	}
	m := p.mark(r)
	raw := fmt.Sprintf(unreadable[n], m)
	p.note(chat.Said{What: chat.Malformed, Marker: m, Text: raw, Once: n >= numbered}) // before it can be there
	p.fake.Inject(json.RawMessage(raw))
}

// Name begins the markers of a run of a seed.
func Name(seed uint64) string { return "t" + strconv.FormatUint(seed%(36*36*36*36), 36) }
