package store

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// SearchFilter says which messages; empty fields leave all of them.
type SearchFilter struct {
	Query          string // words, all of which the message has; the last one may be the beginning of one
	Below          uint64 // only messages below this cursor; 0: all
	Session        session.ID
	Agent, Channel string
	Limit          int
}

// Hit is a message that was found.
type Hit struct {
	Session session.ID
	Message conversation.Message
	Snippet string // the place in the text, the words in [ ]
}

// Expression is a person's query as one of FTS5: the words of it, none of them syntax. "" when it has no word.
func Expression(query string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(query, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		if !strings.ContainsFunc(word, isToken) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(`"` + strings.ReplaceAll(word, `"`, `""`) + `"`)
	}
	if b.Len() > 0 {
		b.WriteByte('*')
	}
	return b.String()
}

// Search is the messages that a filter finds, the newest first.
func (s *Store) Search(ctx context.Context, f SearchFilter) ([]Hit, error) {
	match := Expression(f.Query)
	if match == "" {
		return nil, nil
	}
	if err := s.index(ctx); err != nil {
		return nil, fmt.Errorf("index the words: %w", classified(err))
	}
	w := where{}
	w.add(true, "words MATCH ?", match)
	w.add(f.Below > 0, "words.rowid < ?", f.Below)
	w.add(f.Session != "", "session.id = ?", string(f.Session))
	w.add(f.Agent != "", "session.agent = ?", f.Agent)
	w.add(f.Channel != "", "session.channel = ?", f.Channel)
	w.args = append(w.args, f.Limit)
	wanted := tokensOf(f.Query)
	var hits []Hit
	err := s.rows(ctx, func(scan scanner) error {
		var h Hit
		var err error
		h.Message, err = scanMessage(scan, &h.Session)
		h.Snippet = snippet(h.Message.Text, wanted)
		hits = append(hits, h)
		return err
	}, "SELECT "+messageColumns+", session.id FROM words "+
		"CROSS JOIN message ON message.cursor = words.rowid CROSS JOIN session ON session.key = message.session"+w.String()+
		" ORDER BY words.rowid DESC LIMIT ?", w.args...)
	return hits, err
}
