package conversations

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/internal/store"
)

const (
	listMost, listUsual     = 500, 50
	readMost, readUsual     = 200, 20
	searchMost, searchUsual = 100, 20

	queryMost = 1000 // bytes: the work grows with the words of a query, and others wait for it
)

// lag is how long a question waits for events that were stored before it and are still on their way.
const lag = 300 * time.Millisecond

// near is how many events may be missing for that.
const near = 1000

// asking answers one question from the index.
func (s *Service) asking(ctx context.Context, answer func(*index, Behind) error) error {
	x, done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	behind, err := s.behind(ctx, x)
	if err != nil {
		return err
	}
	err = answer(x, behind)
	if errors.Is(err, store.ErrForeign) {
		x.fail(err)
		return fault.New(fault.Unavailable, "the index of conversations is damaged and is being built again; try again: %w", err)
	}
	return err
}

// behind says how far an index is, after it was given a moment to take in what is on its way.
func (s *Service) behind(ctx context.Context, x *index) (Behind, error) {
	at := x.done.Load() // before the journal's end is asked for, which moves on
	u, err := s.conn.Journal().Usage(ctx)
	if err != nil {
		return Behind{}, err
	}
	if u.Last < at {
		x.fail(errOther)
		return Behind{}, fault.New(fault.Unavailable, "the index of conversations is being built again: %w", errOther)
	}
	if u.Last-at <= near {
		wait, cancel := context.WithTimeout(ctx, lag)
		x.reach(wait, u.Last)
		cancel()
	}
	b := Behind{Cursor: x.done.Load(), Last: u.Last}
	b.Last = max(b.Last, b.Cursor)
	b.Events = b.Last - b.Cursor
	return b, nil
}

func (s *Service) list(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[ListRequest](data)
	if err != nil {
		return nil, err
	}
	limit, err := bounded(r.Limit, listUsual, listMost)
	if err != nil {
		return nil, err
	}
	below, err := cursor(r.Cursor)
	if err != nil {
		return nil, err
	}
	out := List{Conversations: []Conversation{}}
	err = s.asking(ctx, func(x *index, b Behind) error {
		out.Behind = b
		rows, err := x.store.List(ctx, store.ListFilter{
			Below: below, Label: r.Search, Agent: r.Agent, Channel: r.Channel, Since: r.Since, Open: r.Open, Limit: limit + 1,
		})
		if err != nil {
			return err
		}
		room := room{answerBytes}
		for i, row := range rows {
			c := listed(row)
			if i == limit || !room.takes(c) && i > 0 {
				out.Next = strconv.FormatUint(out.Conversations[i-1].Last, 10)
				break
			}
			out.Conversations = append(out.Conversations, c)
		}
		return nil
	})
	return out, err
}

func (s *Service) get(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[GetRequest](data)
	if err != nil {
		return nil, err
	}
	var out Got
	err = s.asking(ctx, func(x *index, b Behind) error {
		row, err := find(ctx, x, r.Session)
		out = Got{Conversation: viewed(row), Behind: b}
		return err
	})
	return out, err
}

func (s *Service) read(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[ReadRequest](data)
	if err != nil {
		return nil, err
	}
	limit, err := bounded(r.Limit, readUsual, readMost)
	if err != nil {
		return nil, err
	}
	out := Read{Session: r.Session}
	err = s.asking(ctx, func(x *index, b Behind) error {
		out.Behind = b
		row, err := find(ctx, x, r.Session)
		if err != nil {
			return err
		}
		page := store.Page{Key: row.Key, After: r.After, Before: r.Before, Oldest: r.After > 0 || r.Oldest, Limit: limit, Room: answerBytes}
		if r.Message != "" {
			page = store.Page{Key: row.Key, ID: r.Message, Limit: 1, Room: answerBytes}
		}
		messages, more, err := x.store.Messages(ctx, page)
		if err != nil {
			return err
		}
		if r.Message != "" && len(messages) == 0 {
			return fault.New(fault.NotFound, "there is no message %.80q in %s", r.Message, r.Session)
		}
		fitting := fit(messages, page.Oldest)
		out.Messages, out.More = fitting, more || len(fitting) < len(messages)
		return nil
	})
	return out, err
}

func (s *Service) search(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[SearchRequest](data)
	if err != nil {
		return nil, err
	}
	switch {
	case len(r.Query) > queryMost:
		return nil, fault.New(fault.Invalid, "a query of %d bytes: at most %d", len(r.Query), queryMost)
	case store.Expression(r.Query) == "":
		return nil, fault.New(fault.Invalid, "nothing to search for: name at least one word")
	}
	limit, err := bounded(r.Limit, searchUsual, searchMost)
	if err != nil {
		return nil, err
	}
	below, err := cursor(r.Cursor)
	if err != nil {
		return nil, err
	}
	out := Search{Hits: []Hit{}}
	err = s.asking(ctx, func(x *index, b Behind) error {
		out.Behind = b
		if r.Session != "" {
			if _, err := find(ctx, x, r.Session); err != nil {
				return err
			}
		}
		hits, err := x.store.Search(ctx, store.SearchFilter{
			Query: r.Query, Below: below, Session: r.Session, Agent: r.Agent, Channel: r.Channel, Limit: limit + 1,
		})
		if err != nil {
			return err
		}
		room := room{answerBytes}
		for i, h := range hits {
			hit := Hit{Session: h.Session, Message: h.Message.Shortened(hitBytes), Snippet: short(h.Snippet, hitBytes)}
			if i == limit || !room.takes(hit) && i > 0 {
				out.Next = strconv.FormatUint(hits[i-1].Message.Cursor, 10)
				break
			}
			out.Hits = append(out.Hits, hit)
		}
		return nil
	})
	return out, err
}

func (s *Service) status(ctx context.Context, data []byte) (any, error) {
	if _, err := bus.Question[StatusRequest](data); err != nil {
		return nil, err
	}
	var out Status
	err := s.asking(ctx, func(x *index, b Behind) error {
		out = Status{
			Behind: b, Path: s.path, Bytes: x.store.Bytes(), Since: x.mark.Begun, Rebuilding: b.Cursor < x.whole,
		}
		var err error
		out.Sessions, out.Messages, err = x.store.Count(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.rebuild != nil {
			out.Rebuilding, out.Since = true, s.rebuild.since
			out.Behind.Cursor = 0
			if n := s.rebuild.index; n != nil {
				out.Behind.Cursor = n.done.Load()
			}
			out.Behind.Events = out.Behind.Last - min(out.Behind.Cursor, out.Behind.Last)
		}
		return err
	})
	return out, err
}

// find is the row of a session that somebody has named.
func find(ctx context.Context, x *index, id session.ID) (store.Session, error) {
	if id == "" {
		return store.Session{}, fault.New(fault.Invalid, "name a session, as in main.terminal.local.default")
	}
	row, ok, err := x.store.Find(ctx, id)
	if err != nil || ok {
		return row, err
	}
	return row, unknown(ctx, x, id)
}

// bounded is a limit as it holds.
func bounded(given, usual, most int) (int, error) {
	switch {
	case given == 0:
		return usual, nil
	case given < 0 || given > most:
		return 0, fault.New(fault.Invalid, "a limit of %d: give one from 1 to %d", given, most)
	}
	return given, nil
}

// cursor reads where a page begins.
func cursor(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, fault.New(fault.Invalid, "%.40q is no cursor of a page: give the one that the page before has named as next", text)
	}
	return n, nil
}
