// Package money writes amounts of money. They are whole billionths of a US dollar everywhere, so that sums are exact.
package money

import (
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
