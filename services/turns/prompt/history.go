package prompt

import (
	"slices"

	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// oldResult is how many bytes of a tool's result are shown when it has to be cut.
const oldResult = 768

// choice is what of the finished turns is shown: those from first on, and from whole on with whole results.
type choice struct {
	first, whole int
	tokens       []int // of each that is shown
}

// choose fits finished turns into budget. It looks at no more of them than fit, so that its cost is bounded by the
// window, not by the history.
func choose(past []turn.Exchange, budget int) choice {
	c := choice{tokens: make([]int, len(past))}
	sum, seen := 0, len(past)
	for seen > 0 && sum <= budget {
		seen--
		c.tokens[seen] = exchangeTokens(past[seen].Entries)
		sum += c.tokens[seen]
	}
	if sum <= budget {
		return c // all of them, whole
	}
	whole := slices.Clone(c.tokens[seen:]) // of past[seen:]

	// The newest keep their results within half of the budget, the others are cut.
	sum = 0
	c.whole = len(past)
	for c.whole > seen && sum+c.tokens[c.whole-1] <= budget/2 {
		c.whole--
		sum += c.tokens[c.whole]
	}
	for c.first = c.whole; c.first > 0; c.first-- {
		n := c.cutTokens(past, seen, c.first-1)
		if sum+n > budget {
			break
		}
		c.tokens[c.first-1] = n
		sum += n
	}
	// What room is left gives the newest of those their results back.
	for c.whole > max(c.first, seen) {
		i := c.whole - 1
		if sum += whole[i-seen] - c.tokens[i]; sum > budget {
			break
		}
		c.tokens[i] = whole[i-seen]
		c.whole = i
	}
	return c
}

// cutTokens are those of past[i] with its results cut; from seen on they are known when nothing is long.
func (c choice) cutTokens(past []turn.Exchange, seen, i int) int {
	entries := past[i].Entries
	switch {
	case !long(entries) && i >= seen:
		return c.tokens[i]
	case !long(entries):
		return exchangeTokens(entries)
	}
	return exchangeTokens(cutResults(entries, oldResult))
}

// exchangeTokens are those of all messages of a turn.
func exchangeTokens(entries []turn.Entry) int {
	n := 0
	for _, e := range entries {
		n += entryTokens(e)
	}
	return n
}

// longest is how a message takes most room: which pictures are shown, and which tools offered, is not known yet.
var longest = sight{blind: true, reader: readAttachment}

func entryTokens(e turn.Entry) int {
	n := messageTokens
	if e.Beside == nil {
		n += Tokens(e.Text)
	} else {
		text, _ := longest.message("", 0, e)
		n += Tokens(text)
	}
	for _, c := range e.Calls {
		n += callTokens + Tokens(c.Tool) + Tokens(c.Arguments) + messageTokens + Tokens(c.Note)
		switch {
		case !c.Done || blank(c.Result):
			n += messageTokens
		case c.Own:
			n += Tokens(c.Result)
		default:
			n += fenceTokens + Tokens(c.Result)
		}
	}
	return n
}

// long says whether cutResults(entries, oldResult) changes anything.
func long(entries []turn.Entry) bool {
	for _, e := range entries {
		for _, c := range e.Calls {
			if len(c.Result) > oldResult+slack {
				return true
			}
		}
	}
	return false
}

// cutResults is a copy of entries with at most about limit bytes of each result.
func cutResults(entries []turn.Entry, limit int) []turn.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		cutEntry(&entries[i], limit)
	}
	return entries
}

// cutEntry cuts the results of e. Its calls are copied first: they belong to the state.
func cutEntry(e *turn.Entry, limit int) {
	copied := false
	for j, c := range e.Calls {
		if len(c.Result) <= limit+slack {
			continue
		}
		if !copied {
			e.Calls, copied = slices.Clone(e.Calls), true
		}
		cutResult(&e.Calls[j], limit)
	}
}
