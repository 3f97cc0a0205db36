package ledger

import (
	"math"
	"strconv"

	"github.com/jetclaw/jetclaw/services/turns/money"
)

// Money says what an account cost: "$0.12", "unknown" where no price was known, "$0.12 + 300 tokens of unknown price"
// where some were, "-" where nothing was used.
func (r Row) Money() string {
	switch {
	case r.Tokens() == 0 && r.Cost == 0 && r.Silent == 0:
		return "-" // nothing was used, whatever it would have cost
	case !r.unknown():
		return money.Dollars(r.Cost)
	}
	// All tokens are unpriced and nothing was charged. A free model's tokens were priced, at 0.
	if r.Cost == 0 && r.Unpriced == r.Tokens() {
		return "unknown"
	}
	s := money.Dollars(r.Cost)
	if r.Unpriced > 0 {
		s += " + " + strconv.Itoa(r.Unpriced) + " tokens of unknown price"
	}
	if r.Silent > 0 {
		s += " + " + strconv.Itoa(r.Silent) + " answers without a count of tokens"
	}
	return s
}

// addMoney saturates: an account never turns into its opposite.
func addMoney(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
