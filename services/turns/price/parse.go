package price

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// file is the form of the data file.
type file struct {
	Sources []string `json:"sources"`
	Models  []line   `json:"models"`
}

type line struct {
	Vendor  string `json:"vendor"`
	Model   string `json:"model"`
	AsOf    string `json:"as_of"`
	Context int    `json:"context"`
	rates
	Above *struct {
		Tokens int `json:"tokens"`
		rates
	} `json:"above"`
}

// rates are US dollars for a million tokens. They are kept as they are written, so that no fraction is lost.
type rates struct {
	Input      json.Number `json:"input"`
	Output     json.Number `json:"output"`
	CacheRead  json.Number `json:"cache_read"`
	CacheWrite json.Number `json:"cache_write"`
}

// Parse reads a data file.
func Parse(data []byte) (Table, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f file
	if err := dec.Decode(&f); err != nil {
		return Table{}, fmt.Errorf("prices: %w", err)
	}
	if dec.More() {
		return Table{}, errors.New("prices: there is something after the end")
	}
	t := Table{list: make([]entry, 0, len(f.Models))}
	known := map[string]bool{}
	for i, l := range f.Models {
		e, err := l.entry()
		if err != nil {
			return Table{}, fmt.Errorf("prices: model %d (%s/%s): %w", i+1, l.Vendor, l.Model, err)
		}
		key := l.Vendor + "/" + l.Model
		if known[key] {
			return Table{}, fmt.Errorf("prices: %s is there twice", key)
		}
		known[key] = true
		t.list = append(t.list, e)
	}
	return t, nil
}

func (l line) entry() (entry, error) {
	if l.Vendor == "" || l.Model == "" {
		return entry{}, errors.New("vendor and model are required")
	}
	if _, err := time.Parse(time.DateOnly, l.AsOf); err != nil {
		return entry{}, fmt.Errorf("as_of %q is not a date", l.AsOf)
	}
	if l.Context < 0 {
		return entry{}, fmt.Errorf("context is %d", l.Context)
	}
	p, err := l.price()
	if err != nil {
		return entry{}, err
	}
	e := entry{vendor: l.Vendor, model: l.Model, price: p, priced: true, window: l.Context}
	if l.Above == nil {
		return e, nil
	}
	if e.above = l.Above.Tokens; e.above <= 0 {
		return entry{}, fmt.Errorf("above: tokens is %d", e.above)
	}
	if l.Above.rates == (rates{}) {
		return e, nil
	}
	long, err := l.Above.price()
	if err != nil {
		return entry{}, fmt.Errorf("above: %w", err)
	}
	e.long = &long
	return e, nil
}

func (r rates) price() (Price, error) {
	return FromDollars(string(r.Input), string(r.Output), string(r.CacheRead), string(r.CacheWrite))
}

// FromDollars makes a price of US dollars for a million tokens, as people write them: "2.50". An empty rate of cached
// tokens is that of the input.
func FromDollars(input, output, cacheRead, cacheWrite string) (Price, error) {
	if cacheRead == "" {
		cacheRead = input
	}
	if cacheWrite == "" {
		cacheWrite = input
	}
	var p Price
	for _, r := range []struct {
		name, text string
		to         *int64
	}{
		{"input", input, &p.Input},
		{"output", output, &p.Output},
		{"cache_read", cacheRead, &p.CacheRead},
		{"cache_write", cacheWrite, &p.CacheWrite},
	} {
		n, err := rate(r.text)
		if err != nil {
			return Price{}, fmt.Errorf("%s: %w", r.name, err)
		}
		*r.to = n
	}
	return p, nil
}

// OfMillion makes a price of billionths of a US dollar for a million tokens, rounded up. A rate of cached tokens that is
// nil is that of the input.
func OfMillion(input, output int64, cacheRead, cacheWrite *int64) Price {
	if cacheRead == nil {
		cacheRead = &input
	}
	if cacheWrite == nil {
		cacheWrite = &input
	}
	rate := func(n int64) int64 { return (max(n, 0)-1)/per + min(max(n, 0), 1) }
	return Price{Input: rate(input), Output: rate(output), CacheRead: rate(*cacheRead), CacheWrite: rate(*cacheWrite)}
}

const (
	decimals = 6 // a dollar for a million tokens is 1,000,000 billionths for 1,000
	maxWhole = 7 // digits: more is a typing error
)

// rate reads dollars for a million tokens.
func rate(s string) (int64, error) {
	whole, fraction, point := strings.Cut(s, ".")
	if s == "" {
		return 0, errors.New("is missing")
	}
	if !digits(whole) || point && !digits(fraction) || len(whole) > maxWhole || len(fraction) > decimals {
		return 0, fmt.Errorf("%q is not an amount of US dollars such as 2.50 (at most %d decimals)", s, decimals)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, err)
	}
	return n, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
