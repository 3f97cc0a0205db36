package intake

import (
	"context"
	"errors"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// A reply is one message of the bus and has each text twice, escaped: it takes only so much of them.
const (
	maxQuestions = 32
	maxAsked     = 128 << 10 // bytes of all texts
)

// questions are what a person is asked, as they stand in the journal, and all of it as one text. A text that does not fit
// is left out whole: what is shown of a call has to be all of it.
func (s *Service) questions(ctx context.Context, open []thread.Approval) (string, []wire.Question, error) {
	var (
		list  []wire.Question
		texts []string
		size  int
	)
	for _, a := range open[:min(len(open), maxQuestions)] {
		e, err := s.journal.Get(ctx, a.Cursor)
		if errors.Is(err, bus.ErrNoEvent) {
			return "", nil, fault.New(fault.NotFound, "what it waits for is no longer there: the session was deleted")
		}
		if err != nil {
			return "", nil, err
		}
		q := wire.Question{ID: a.ID}
		if b, ok := e.Body.(approvalv1.Requested); ok {
			q.Expires, q.Text = b.Expires, b.Text
		}
		if size += len(q.Text); size > maxAsked || q.Text == "" {
			size -= len(q.Text)
			q.Text = ""
			texts = append(texts, "Approval "+a.ID+" is asked for, too. It is too long to be shown here: look at it by its id.")
		} else {
			texts = append(texts, q.Text)
		}
		list = append(list, q)
	}
	return strings.Join(texts, "\n\n"), list, nil
}
