package ledger

import (
	"math"
	"strconv"
	"strings"
)

const (
	dollar = 1_000_000_000 // billionths
	places = 9
	cents  = 2
)

// Dollars writes an amount of billionths exactly: "$0.0123", "$12.34", "-$0.50". It has two decimals at least.
func Dollars(nano int64) string {
	sign, amount := "", uint64(nano)
	if nano < 0 {
		sign, amount = "-", -amount // also right for the least of all
	}
	fraction := strconv.FormatUint(amount%dollar, 10)
	fraction = strings.TrimRight(strings.Repeat("0", places-len(fraction))+fraction, "0")
	if len(fraction) < cents {
		fraction += strings.Repeat("0", cents-len(fraction))
	}
	return sign + "$" + strconv.FormatUint(amount/dollar, 10) + "." + fraction
}

// Money says what an account cost: "$0.12", "unknown" where no price was known, "$0.12 + 300 tokens of unknown price"
// where some were.
func (r Row) Money() string {
	if !r.unknown() {
		return Dollars(r.Cost)
	}
	// All tokens are unpriced and nothing was charged. A free model's tokens were priced, at 0.
	if r.Cost == 0 && r.Unpriced == r.Tokens() {
		return "unknown"
	}
	s := Dollars(r.Cost)
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
