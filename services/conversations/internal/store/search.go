package store

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

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
		if !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) }) {
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

// The marks around the words that were found, until they become [ ]: from the private use area, so that no text has them.
// FTS5's own snippet compares every word that was found with every other one: minutes for a long text that repeats itself.
const (
	markOpen  = "\uf8f0"
	markClose = "\uf8f1"
)

const (
	snippetBefore = 60 // bytes of the text before the first word that was found
	snippetAfter  = 180
)

// snippet is the place in a marked text where the first word was found.
func snippet(marked string) string {
	at := max(strings.Index(marked, markOpen), 0)
	from, to := max(at-snippetBefore, 0), min(at+snippetAfter, len(marked))
	for from > 0 && !utf8.RuneStart(marked[from]) {
		from--
	}
	for to < len(marked) && !utf8.RuneStart(marked[to]) {
		to++
	}
	part := marked[from:to]
	if strings.Count(part, markOpen) > strings.Count(part, markClose) { // it ends within a word that was found
		part += markClose
	}
	part = strings.NewReplacer(markOpen, "[", markClose, "]").Replace(part)
	if from > 0 {
		part = "…" + part
	}
	if to < len(marked) {
		part += "…"
	}
	return part
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
	var hits []Hit
	err := s.rows(ctx, func(scan scanner) error {
		var h Hit
		var err error
		h.Message, err = scanMessage(scan, &h.Session, &h.Snippet)
		h.Snippet = snippet(h.Snippet)
		hits = append(hits, h)
		return err
	}, fmt.Sprintf("SELECT %s, session.id, highlight(words, 0, '%s', '%s') FROM words "+
		"CROSS JOIN message ON message.cursor = words.rowid CROSS JOIN session ON session.key = message.session%s "+
		"ORDER BY words.rowid DESC LIMIT ?", messageColumns, markOpen, markClose, w.String()), w.args...)
	return hits, err
}
