package config

import (
	"errors"
	"strconv"
	"strings"
)

// Money is an amount in billionths of a US dollar. It is written as 5, 0.50, "0.50" or "$0.50".
type Money int64

// dollar is one US dollar.
const dollar Money = 1e9

// maxDollars keeps every amount, and some sums of amounts, within an int64.
const maxDollars = 1e9

// parse reads digits, never a float: a cent is a cent.
func (m *Money) parse(text string) error {
	text = strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(text), "$"), "_", "")
	if strings.HasPrefix(text, "-") {
		return errors.New("must not be negative")
	}
	whole, fraction, point := strings.Cut(text, ".")
	if !digits(whole) || point && !digits(fraction) {
		return errors.New("an amount of US dollars is written as 5, 0.50 or $0.50")
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 9 {
		return errors.New("an amount has at most nine decimals")
	}
	d, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || d > maxDollars {
		return errors.New("this amount is too large")
	}
	n := Money(0)
	if fraction != "" {
		billionths, err := strconv.ParseInt(fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
		if err != nil {
			return errors.New("an amount of US dollars is written as 5, 0.50 or $0.50")
		}
		n = Money(billionths)
	}
	*m = Money(d)*dollar + n
	return nil
}

func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// String is exact and has cents: $5.00, $0.0375.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	fraction := strconv.FormatInt(int64(dollar+m%dollar), 10)[1:] // nine digits
	for len(fraction) > 2 && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	return sign + "$" + strconv.FormatInt(int64(m/dollar), 10) + "." + fraction
}

// Nano is the amount in billionths of a US dollar.
func (m Money) Nano() int64 { return int64(m) }

// MarshalYAML writes it as it is read.
func (m Money) MarshalYAML() (any, error) { return m.String(), nil }

// MarshalText writes it as it is read.
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
