package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
)

// Mode is how a door treats private chats with people who are not let in. The zero value lets nobody in.
type Mode string

// The modes.
const (
	Pairing   Mode = "pairing"   // they are told a code that an operator can approve
	Allowlist Mode = "allowlist" // they are ignored
	Open      Mode = "open"      // there are none: everybody may write
)

// Policy is what is configured for a door.
type Policy struct {
	Mode   Mode
	Allow  []int64         // users who may write privately
	Groups map[int64]Group // groups that may be written in; all others are ignored
}

// Group is what is configured for one group.
type Group struct {
	RequireMention bool    // only what is meant for the bot counts
	Users          []int64 // who counts; empty: all members, those who write anonymously included
}

// Kind is what somebody does.
type Kind string

// The kinds. The verdict is the same for all of them; they are here for logs.
const (
	Message  Kind = "message"
	Edit     Kind = "edit"
	Reaction Kind = "reaction"
	Callback Kind = "callback" // a tap on a button
	Command  Kind = "command"
)

// The kinds of chats that are known, as the Bot API names them (Chat.type). Others are ignored.
const (
	privateChat = "private"
	groupChat   = "group"
	superGroup  = "supergroup"
)

// Attempt is one thing that somebody does at a door.
type Attempt struct {
	Door       accessv1.Door
	Kind       Kind
	Key        string // of the update, the same when it comes again; "" when there is none
	Chat       int64
	ChatKind   string
	User       int64  // 0: none
	Bot        bool   // the user is a bot
	SenderChat int64  // not 0: an anonymous admin or a channel writes, and User and Bot are made up
	Name       string // of the user, for people; untrusted
	Addressed  bool   // it names the bot, replies to it, is a command for it, or a tap on its button
	Code       string // a fresh code, should one be needed
	Now        time.Time
}

// Who is the identity of the user.
func (a Attempt) Who() string { return Identity(a.Door.Channel, a.User) }

// Identity is how events name a user of a channel.
func Identity(channel string, user int64) string { return channel + ":" + strconv.FormatInt(user, 10) }

// Ruling is what is to be done with an attempt.
type Ruling uint8

// The rulings. Of all but Allow nothing may reach an agent.
const (
	Ignore Ruling = iota // silently: nothing is written down, nothing answered
	Allow                // it goes to the agent
	Tell                 // its sender gets Detail
	Pair                 // Request is appended, then its sender gets Detail
)

// Verdict is the answer to an attempt.
type Verdict struct {
	Kind    Ruling
	Chat    int64               // whose session it is: the first number of a group that has moved
	Reason  string              // why it is not allowed, for the log
	Detail  string              // for the sender
	Request *accessv1.Requested // of a Pair
}

// Judge decides about an attempt.
func (s State) Judge(p Policy, a Attempt) Verdict {
	v := Verdict{Chat: a.Chat}
	var ok bool
	switch {
	case a.Bot && a.SenderChat == 0:
		v.Reason = fmt.Sprintf("user %d is a bot", a.User)
		return v
	case a.ChatKind == privateChat:
		return s.private(p, a)
	case a.ChatKind == groupChat || a.ChatKind == superGroup:
		v.Chat = s.root(a.Door, a.Chat)
		v.Reason, ok = s.inGroup(p, a)
	default:
		v.Reason = fmt.Sprintf("chat %d is a %.20q: only private chats and groups are read", a.Chat, a.ChatKind)
	}
	if ok {
		v.Kind = Allow
	}
	return v
}

// inGroup says why an attempt in a group is ignored, or that it is not.
func (s State) inGroup(p Policy, a Attempt) (reason string, ok bool) {
	g, listed := s.listed(p, a.Door, a.Chat)
	switch {
	case a.Chat >= 0:
		return fmt.Sprintf("chat %d cannot be a group", a.Chat), false
	case !listed:
		return fmt.Sprintf("group %d is not listed", a.Chat), false
	case a.User <= 0 && a.SenderChat == 0:
		return "nobody has sent it", false
	case len(g.Users) > 0 && a.SenderChat != 0:
		return fmt.Sprintf("chat %d writes in group %d, which only lets users write", a.SenderChat, a.Chat), false
	case len(g.Users) > 0 && !slices.Contains(g.Users, a.User):
		return fmt.Sprintf("user %d is not listed in group %d", a.User, a.Chat), false
	case g.RequireMention && !a.Addressed:
		return "the bot was not meant", false
	}
	return "", true
}

// listed is what is configured for a group, by its number or else by the last of those it had before.
func (s State) listed(p Policy, d accessv1.Door, chat int64) (Group, bool) {
	for {
		if g, ok := p.Groups[chat]; ok {
			return g, true
		}
		from, moved := s.movedFrom(d, chat)
		if !moved {
			return Group{}, false
		}
		chat = from
	}
}

// Moves says whether a move of a group has to be written down: it is news, and of a group that may be written in.
func (s State) Moves(p Policy, m accessv1.Moved) bool {
	news, ok := s.moving(m)
	if !ok {
		return false
	}
	_, listed := s.listed(p, news.Door, news.From)
	return listed
}

// private decides in the chat of one person with the bot.
func (s State) private(p Policy, a Attempt) Verdict {
	v := Verdict{Chat: a.Chat}
	_, let := s.Person(a.Door, a.Who())
	switch {
	case a.SenderChat != 0:
		v.Reason = fmt.Sprintf("chat %d writes in a private chat", a.SenderChat)
	case a.User <= 0 || a.Chat != a.User:
		v.Reason = fmt.Sprintf("private chat %d is not that of user %d", a.Chat, a.User)
	case p.Mode != Pairing && p.Mode != Allowlist && p.Mode != Open:
		v.Reason = fmt.Sprintf("mode %.20q is not known", string(p.Mode))
	case p.Mode == Open, let, slices.Contains(p.Allow, a.User):
		v.Kind = Allow
	case p.Mode == Allowlist:
		v.Reason = fmt.Sprintf("user %d is not on the list", a.User)
	default:
		return s.pair(v, a)
	}
	return v
}

// pair tells a stranger a code, unless it was told already.
func (s State) pair(v Verdict, a Attempt) Verdict {
	open := without(s.Requests(a.Now), func(r Request) bool { return r.Door != a.Door })
	asked, waits := first(open, ofRequest(a.Door, a.Who()))
	switch {
	case waits && a.Key != "" && asked.Key == a.Key:
		v.Kind, v.Reason, v.Detail = Tell, "the same as before", detail(asked.Code)
	case waits:
		v.Reason = fmt.Sprintf("user %d has a code that nobody has approved yet", a.User)
	case len(open) >= MaxOpen:
		v.Reason = fmt.Sprintf("%d people wait at this door already, user %d is not asked", len(open), a.User)
	case !IsCode(a.Code) || s.Taken(a.Code):
		v.Reason = fmt.Sprintf("there is no fresh code for user %d", a.User)
	default:
		v.Kind, v.Reason, v.Detail = Pair, fmt.Sprintf("user %d is not let in", a.User), detail(a.Code)
		v.Request = &accessv1.Requested{
			Door: a.Door, Who: a.Who(), Name: cleanName(a.Name), Code: a.Code, Expires: a.Now.Add(CodeLife).UTC(),
		}
	}
	return v
}

func detail(code string) string {
	return "You are not known here yet. Ask the operator to run: jetclaw pairing approve " + code +
		" (good for 1 hour). This message was not read; write again once you are let in."
}

// maxName bounds what is kept of a name, in characters.
const maxName = 64

// cleanName is a name as one short line.
func cleanName(name string) string {
	name = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))), " ")
	if r := []rune(name); len(r) > maxName {
		return strings.TrimSpace(string(r[:maxName-1])) + "…"
	}
	return name
}
