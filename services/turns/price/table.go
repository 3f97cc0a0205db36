package price

import (
	"math"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Offline is the vendor of the built-in model. It costs nothing, and that is known.
const Offline = "offline"

// Price is what a model costs: billionths of a US dollar for 1,000 tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite int64 }

// per is how many tokens a rate is for.
const per = 1000

// Table finds prices. The zero value knows the offline model only. It is read-only, and safe for concurrent use.
type Table struct {
	list []entry // of the file
	user []entry // of the configuration; their vendor is ""
}

// entry is one line of a table.
type entry struct {
	vendor, model string
	price         Price
	priced        bool
	window        int
	above         int    // tokens of input above which long counts; 0: none
	long          *Price // nil: unknown
}

// UserPrice is an entry of the configuration.
type UserPrice struct {
	Model  string // "provider/model"; see the package comment for what it may stand for
	Price  *Price // nil leaves the price as it is: only the window is given
	Window int    // tokens; 0 leaves it as it is
}

// With is the table with entries of the user's, which win over all that was there before.
func (t Table) With(user []UserPrice) Table {
	entries := make([]entry, 0, len(user)+len(t.user))
	for _, u := range user {
		e := entry{model: u.Model, window: u.Window}
		if u.Price != nil {
			e.price, e.priced = *u.Price, true
		}
		entries = append(entries, e)
	}
	return Table{list: t.list, user: append(entries, t.user...)}
}

// Of is the price of a model, of a short request where it depends on the length. ref is "provider/model". vendor says
// whose list prices count: it must be "" when the provider's address is not the vendor's own, as then nobody knows.
func (t Table) Of(ref, vendor string) (Price, bool) {
	e, ok := t.find(ref, vendor, func(e entry) bool { return e.priced })
	return e.price, ok
}

// Window is how many tokens a request and its answer may have together; 0 when it is not known.
func (t Table) Window(ref, vendor string) int {
	e, _ := t.find(ref, vendor, func(e entry) bool { return e.window > 0 })
	return e.window
}

// Charge fills in what a call costs. It is not priced when the price is not known, or when the provider did not report
// any tokens, unless the model is free.
func (t Table) Charge(ref, vendor string, u turnv1.Usage) turnv1.Usage {
	u.Cost, u.Priced = 0, false
	e, ok := t.find(ref, vendor, func(e entry) bool { return e.priced })
	if !ok {
		return u
	}
	p := e.price
	if e.above > 0 && u.Input > e.above {
		if e.long == nil {
			return u
		}
		p = *e.long
	}
	if u.Input <= 0 && u.Output <= 0 && p != (Price{}) {
		return u
	}
	u.Cost, u.Priced = p.cost(u), true
	return u
}

// cost rounds up to a whole billionth. A provider that reports more tokens from a cache than there were at all is not
// believed.
func (p Price) cost(u turnv1.Usage) int64 {
	input := max(u.Input, 0)
	read := min(max(u.CacheRead, 0), input)
	written := min(max(u.CacheWrite, 0), input-read)
	sum := int64(0)
	for _, part := range []struct {
		tokens int
		rate   int64
	}{{input - read - written, p.Input}, {read, p.CacheRead}, {written, p.CacheWrite}, {u.Output, p.Output}} {
		tokens, rate := int64(max(part.tokens, 0)), max(part.rate, 0)
		if rate > 0 && tokens > (math.MaxInt64-sum)/rate {
			return math.MaxInt64/per + 1 // saturated: more than nine million dollars for one call
		}
		sum += tokens * rate
	}
	cost := sum / per
	if sum%per > 0 {
		cost++
	}
	return cost
}

// find is the most specific entry that has what is asked for: the user's first.
func (t Table) find(ref, vendor string, has func(entry) bool) (entry, bool) {
	if e, ok := best(t.user, "", ref, has); ok {
		return e, true
	}
	if vendor == Offline {
		e := entry{priced: true}
		return e, has(e)
	}
	if vendor == "" {
		return entry{}, false
	}
	_, model, ok := strings.Cut(ref, "/")
	if !ok {
		model = ref
	}
	return best(t.list, vendor, model, has)
}

func best(entries []entry, vendor, name string, has func(entry) bool) (entry, bool) {
	found := -1
	for i, e := range entries {
		if e.vendor != vendor || !has(e) || !matches(e.model, name) {
			continue
		}
		if found < 0 || before(e.model, entries[found].model) {
			found = i
		}
	}
	if found < 0 {
		return entry{}, false
	}
	return entries[found], true
}
