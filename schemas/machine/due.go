package machine

import "time"

// Due says whether a time has come that was set at since, by perhaps another clock. A clock that shows a time well before since
// is wrong, or was set back: what was put off then is due at once, as it would else be late by as much.
func Due(now, since, until time.Time) bool {
	return !now.Before(until) || now.Add(skew).Before(since)
}

// skew is how far clocks may be apart without anybody minding.
const skew = time.Minute
