package conversations

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

const (
	nearestOf   = 500 // sessions that are looked at, the last active ones
	nearestTold = 3
	nearestLong = 120 // a longer id is compared up to here
)

// unknown is the fault about a session that is not there.
func unknown(ctx context.Context, x *index, id session.ID) error {
	ids, err := x.store.IDs(ctx, nearestOf)
	if err != nil {
		return err
	}
	near := nearest(string(id), ids)
	if len(near) == 0 {
		return fault.New(fault.NotFound, "there is no conversation %.200q", string(id))
	}
	return fault.New(fault.NotFound, "there is no conversation %.200q; did you mean %s?", string(id), strings.Join(near, ", "))
}

// nearest are the ids that a name may have been meant for: those that have it in them, then those with few other letters.
func nearest(name string, ids []session.ID) []string {
	type candidate struct {
		id  string
		far int
	}
	var list []candidate
	name = short(strings.ToLower(name), nearestLong)
	for _, id := range ids {
		low := short(strings.ToLower(string(id)), nearestLong)
		peer := low[strings.LastIndexByte(low, '.')+1:]
		far := min(distance(name, low), distance(name, peer))
		if strings.Contains(low, name) {
			far = 0
		}
		if far <= max(2, len(name)/4) {
			list = append(list, candidate{string(id), far})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var out []string
	for _, c := range list[:min(len(list), nearestTold)] {
		out = append(out, c.id)
	}
	return out
}

// distance is how many bytes have to be changed, added or left out to come from one text to the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// median is the value in the middle of a list, which it sorts.
func median(list []uint64) uint64 {
	slices.Sort(list)
	return list[len(list)/2]
}
