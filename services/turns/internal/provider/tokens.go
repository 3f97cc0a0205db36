package provider

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxTokens is the most that a count of tokens is believed to be.
const maxTokens = 1 << 40

// Tokens reads a count as leniently as a count deserves: a good answer must not fail on a bad one. What is negative,
// absurd or no number counts as not reported.
func Tokens(raw json.RawMessage) int {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < maxTokens) { // NaN is neither
		return 0
	}
	return int(n)
}
