package money_test

import (
	"math"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/money"
)

func TestDollars(t *testing.T) {
	for nano, want := range map[int64]string{
		0: "$0.00", 1: "$0.000000001", 12_300_000: "$0.0123", 12_340_000_000: "$12.34", 500_000_000: "$0.50", 1_000_000_000: "$1.00",
		-1_500_000_000: "-$1.50", math.MaxInt64: "$9223372036.854775807", math.MinInt64: "-$9223372036.854775808",
	} {
		if got := money.Dollars(nano); got != want {
			t.Errorf("%d: got %s, want %s", nano, got, want)
		}
	}
}
