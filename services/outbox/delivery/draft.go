package delivery

import (
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// stepped adds the text of a model call that goes on with tool calls, where a draft shows the beginning of it. Elsewhere only
// the end of the turn is shown.
func (s State) stepped(ev envelope.Event, b turnv1.Stepped) State {
	for n, d := range slices.Backward(s.Drafts) {
		if d.is(b.Turn, b.Round) {
			return s.become(ev, n, item{text: b.Text})
		}
	}
	return s
}

// ended adds the end of a turn. The last draft that is left of it becomes that.
func (s State) ended(ev envelope.Event, turn string, i item) State {
	if turn != "" && turn == s.Speaks {
		s.Speaks = ""
	}
	for n, d := range slices.Backward(s.Drafts) {
		if d.Turn == turn {
			return s.become(ev, n, i)
		}
	}
	return s.push(ev, i)
}

// become adds an item that the n-th draft becomes.
func (s State) become(ev envelope.Event, n int, i item) State {
	d := s.Drafts[n]
	i.draft = &d
	next := s.push(ev, i)
	if len(next.Queue) > len(s.Queue) {
		next.Drafts = without(s.Drafts, n)
	}
	return next
}

func without[E any](list []E, i int) []E {
	if len(list) == 1 {
		return nil
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

// drafting takes in a draft that is about to be posted, if its turn still runs and has none.
func (s State) drafting(b deliveryv1.Drafting) State {
	if b.Turn == "" || b.Turn != s.Speaks || s.Drafted(b.Turn, b.Round) {
		return s
	}
	s.Drafts = last(s.Drafts, Draft{Turn: b.Turn, Round: b.Round, Worker: b.Worker, Deadline: wall(b.Deadline)}, maxDrafts)
	return s
}

// Drafted says that a model call has a draft, or is about to; or that its turn still has one of a call before it, which became
// nothing: a call that spoke, broke off, and ended without a word when it was made again. A second one would leave that to stand
// for ever: the end of the turn becomes one message.
func (s State) Drafted(turn string, round int) bool {
	return slices.ContainsFunc(s.Drafts, func(d Draft) bool { return d.Turn == turn }) ||
		slices.ContainsFunc(s.Queue, func(i Item) bool { return i.Draft != nil && i.Draft.is(turn, round) })
}

// Drafting says that a draft is still one, and has not become an item.
func (s State) Drafting(turn string, round int) bool {
	return slices.ContainsFunc(s.Drafts, func(d Draft) bool { return d.is(turn, round) })
}

func (d Draft) is(turn string, round int) bool { return d.Turn == turn && d.Round == round }

// drafted says what became of it.
func (s State) drafted(b deliveryv1.Drafted) State {
	if n := slices.IndexFunc(s.Drafts, func(d Draft) bool { return d.is(b.Turn, b.Round) && d.Receipt == "" }); n >= 0 {
		if b.Receipt == "" {
			s.Drafts = without(s.Drafts, n)
			return s
		}
		s.Drafts = slices.Clone(s.Drafts)
		s.Drafts[n].Receipt, s.Drafts[n].Deadline = b.Receipt, time.Time{}
		return s
	}
	n := slices.IndexFunc(s.Queue, func(i Item) bool {
		return i.Draft != nil && i.Draft.is(b.Turn, b.Round) && i.Draft.Receipt == "" && i.Attempt == 0 && i.Part == 0
	})
	if n < 0 {
		return s // too late: it was delivered without
	}
	s.Queue = slices.Clone(s.Queue)
	d := *s.Queue[n].Draft
	if d.Receipt, d.Deadline = b.Receipt, (time.Time{}); b.Receipt == "" {
		s.Queue[n].Draft = nil
	} else {
		s.Queue[n].Draft = &d
	}
	return s
}
