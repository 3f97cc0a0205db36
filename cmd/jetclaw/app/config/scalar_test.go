package config

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestSizesAndDurationsReadBack(t *testing.T) {
	for _, b := range []Bytes{0, 1, 1000, 1024, 1 << 20, 3 << 30, 1<<30 + 1} {
		var back Bytes
		if err := back.parse(b.String()); err != nil || back != b {
			t.Errorf("%d is written %s and read %d (%v)", b, b, back, err)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", time.Hour: "1h", 1500 * time.Millisecond: "1.5s", day: "1d",
		26*time.Hour + 30*time.Minute: "1d2h30m", 180 * day: "180d", 2*day + 12*time.Hour: "2d12h", -30 * time.Hour: "-30h",
		math.MaxInt64: "106751d23h47m16.854775807s",
	} {
		var back Duration
		if err := back.parse(Duration(d).String()); err != nil || time.Duration(back) != d || Duration(d).String() != want {
			t.Errorf("%s is written %s, not %s, and read %s (%v)", d, Duration(d), want, back, err)
		}
	}
}

func TestDurationsThatAreNone(t *testing.T) {
	for _, in := range []string{
		"", "d", "1.5d", "-1d", "1d-1h", "1d+1h", "2h1d", "1d1d", "1w", "1 d", "106752d", "106751d24h", "99999999999999999999d",
	} {
		var d Duration
		if err := d.parse(in); err == nil {
			t.Errorf("%q is read as %s", in, d)
		}
	}
}

func TestMoney(t *testing.T) {
	for in, want := range map[string]struct {
		nano int64
		back string
	}{
		"0": {0, "$0.00"}, "0.00": {0, "$0.00"}, "5": {5e9, "$5.00"}, "0.50": {5e8, "$0.50"}, "$0.50": {5e8, "$0.50"},
		" $3.75 ": {3_750_000_000, "$3.75"}, "0.0375": {37_500_000, "$0.0375"}, "0.000000001": {1, "$0.000000001"},
		"1_000.10": {1_000_100_000_000, "$1000.10"}, "0.29": {290_000_000, "$0.29"}, "1.10000000000": {1_100_000_000, "$1.10"},
		"1000000000": {1e18, "$1000000000.00"},
	} {
		var m, again Money
		if err := m.parse(in); err != nil || m.Nano() != want.nano || m.String() != want.back {
			t.Errorf("%q is %d, %s, %v; want %+v", in, m, m, err, want)
		}
		if err := again.parse(m.String()); err != nil || again != m {
			t.Errorf("%s is read as %s (%v)", m, again, err)
		}
	}
	if got := Money(-1_500_000_000).String(); got != "-$1.50" {
		t.Error(got)
	}
}

func TestMoneyThatIsNone(t *testing.T) {
	for in, want := range map[string]string{
		"": "as 5, 0.50", "$": "as 5, 0.50", ".": "as 5, 0.50", "1.": "as 5, 0.50", ".5": "as 5, 0.50", "1,50": "as 5, 0.50",
		"1e3": "as 5, 0.50", "5 EUR": "as 5, 0.50", "0x10": "as 5, 0.50", "1.2.3": "as 5, 0.50", "+1": "as 5, 0.50", "NaN": "as 5, 0.50",
		"-1": "must not be negative", "$-1": "must not be negative", "0.0000000001": "at most nine decimals",
		"1000000001": "too large", "99999999999999999999": "too large",
	} {
		m := Money(7)
		if err := m.parse(in); err == nil || m != 7 || !contains(err, want) {
			t.Errorf("%q is %d, %v; want %s", in, m, err, want)
		}
	}
}

// FuzzMoney: whatever is read is read again from how it is written, and cents are not lost.
func FuzzMoney(f *testing.F) {
	f.Add(uint32(1), uint32(1))
	f.Fuzz(func(t *testing.T, dollars, billionths uint32) {
		billionths %= 1e9
		dollars %= 1e9
		var m, again Money
		if err := m.parse(fmt.Sprintf("%d.%09d", dollars, billionths)); err != nil || int64(m) != int64(dollars)*1e9+int64(billionths) {
			t.Fatal(m, err)
		}
		if err := again.parse(m.String()); err != nil || again != m {
			t.Fatal(again, m, err)
		}
	})
}
