package prompt

import (
	"slices"

	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	floorResult = 256 // bytes of a result that are always shown
	floorText   = 512 // bytes of a message that are always shown
)

// running fits the running turn into free tokens. When there are finished turns too, it begins to cut its old results
// earlier, so that these are not pushed out.
func running(s turn.State, free int, past bool) ([]turn.Entry, Part) {
	part, t := Part{Name: "this turn"}, s.Turn
	if t == nil {
		entries := said(s)
		part.Tokens, part.Note = exchangeTokens(entries)+messageTokens+Tokens(nextMessage), "no turn is running"
		return entries, part
	}
	part.Tokens = exchangeTokens(t.Entries)
	target := free
	if past {
		target = free * 3 / 4
	}
	if part.Tokens <= target {
		return t.Entries, part
	}
	entries, tokens := cutRounds(t.Entries, part.Tokens, target)
	if tokens < part.Tokens {
		part.Note = "old results cut"
	}
	for limit := halved(t.Entries, resultBytes); tokens > free && limit >= floorResult; limit /= 2 {
		entries = cutResults(t.Entries, limit)
		last := lastRound(entries)
		for i := range entries[:last] {
			entries[i].Calls = t.Entries[i].Calls
			cutEntry(&entries[i], min(limit, oldResult))
		}
		tokens, part.Note = exchangeTokens(entries), "results cut"
	}
	for limit := halved(t.Entries, textBytes); tokens > free && limit >= floorText; limit /= 2 {
		entries = slices.Clone(entries)
		for i, e := range t.Entries {
			entries[i].Text = cut(e.Text, limit)
		}
		tokens, part.Note = exchangeTokens(entries), "results and long texts cut"
	}
	part.Tokens = tokens
	return entries, part
}

// cutRounds cuts the results of all rounds but the last, oldest first, until tokens, which are those of entries, are no
// more than target.
func cutRounds(entries []turn.Entry, tokens, target int) ([]turn.Entry, int) {
	entries = slices.Clone(entries)
	for i := range entries[:lastRound(entries)] {
		if tokens <= target {
			break
		}
		before := entryTokens(entries[i])
		cutEntry(&entries[i], oldResult)
		tokens += entryTokens(entries[i]) - before
	}
	return entries, tokens
}

// lastRound is the index of the last entry with calls, or 0.
func lastRound(entries []turn.Entry) int {
	for i, e := range slices.Backward(entries) {
		if len(e.Calls) > 0 {
			return i
		}
	}
	return 0
}

// halved is the first limit that cuts the longest of what size measures.
func halved(entries []turn.Entry, size func(turn.Entry) int) int {
	longest := 0
	for _, e := range entries {
		longest = max(longest, size(e))
	}
	return longest / 2
}

func resultBytes(e turn.Entry) int {
	n := 0
	for _, c := range e.Calls {
		n = max(n, len(c.Result))
	}
	return n
}

func textBytes(e turn.Entry) int { return len(e.Text) }
