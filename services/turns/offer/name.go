package offer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

const (
	maxName  = 64
	hashSize = 8 // hexadecimal digits
)

// Name is a name that every provider takes: original itself, or one made of it that ends in a hash of it.
func Name(original string) string {
	if portable(original) {
		return original
	}
	return hashed(original, 0)
}

// portable says whether a name can go everywhere. Gemini wants a letter or _ first.
func portable(name string) bool {
	if name == "" || len(name) > maxName || !first(name[0]) {
		return false
	}
	for i := range len(name) {
		if !inner(name[i]) {
			return false
		}
	}
	return true
}

func first(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' }

func inner(b byte) bool { return first(b) || b >= '0' && b <= '9' || b == '-' }

// hashed is the name of original with the n-th part of its hash. Whoever knows a name can publish a tool that is called as
// another one will be: then both get the next part.
func hashed(original string, n int) string {
	sum := sha256.Sum256([]byte(original))
	digits := hex.EncodeToString(sum[:])
	n %= len(digits) / hashSize
	stem := strings.Map(func(r rune) rune {
		if r < 0x80 && inner(byte(r)) {
			return r
		}
		return '_'
	}, original)
	if stem == "" || !first(stem[0]) {
		stem = "_" + stem
	}
	return stem[:min(len(stem), maxName-1-hashSize)] + "_" + digits[n*hashSize:(n+1)*hashSize]
}

// Names says how the tools that were offered are called here and there. The zero value knows none.
type Names struct {
	// LeftOut are the tools that were not offered because there are too many.
	LeftOut []string

	originals map[string]string // by what the model calls them
	shown     map[string]string // the other way
}

// newNames gives each tool its name. The tools have different ones.
func newNames(tools []toolv1.Tool) Names {
	level := make([]int, len(tools))
	name := func(i int) string {
		if level[i] == 0 {
			return Name(tools[i].Name)
		}
		return hashed(tools[i].Name, level[i])
	}
	const levels = 2 * sha256.Size / hashSize
	for range levels {
		by := map[string][]int{}
		for i := range tools {
			by[name(i)] = append(by[name(i)], i)
		}
		if len(by) == len(tools) {
			break
		}
		for _, same := range by {
			for _, i := range same {
				if len(same) > 1 {
					level[i]++
				}
			}
		}
	}
	n := Names{originals: map[string]string{}, shown: map[string]string{}}
	for i, t := range tools {
		shown := name(i)
		if _, taken := n.originals[shown]; !taken {
			n.originals[shown], n.shown[t.Name] = t.Name, shown
		}
	}
	return n
}

// Portable is what a model is told that a tool is called, also when it is only part of the history.
func (n Names) Portable(original string) string {
	if shown, ok := n.shown[original]; ok {
		return shown
	}
	return Name(original)
}

// Original is the tool that a model means. It may use the tool's own name too, which it can have read elsewhere.
func (n Names) Original(name string) (string, bool) {
	if original, ok := n.originals[name]; ok {
		return original, true
	}
	_, ok := n.shown[name]
	return name, ok
}

const (
	suggested = 3
	longest   = 128 // bytes of a name that are compared
)

// Close are offered names that are like a name that was not, the most likely first.
func (n Names) Close(name string) []string {
	name = strings.ToLower(name[:min(len(name), longest)])
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, shown := range slices.Sorted(maps.Keys(n.originals)) {
		low := strings.ToLower(shown)
		d := distance(name, low)
		const part = 3 // letters from which on one name may be part of the other
		if len(name) >= part && strings.Contains(low, name) || len(low) >= part && strings.Contains(name, low) {
			d = min(d, 1)
		}
		if d <= max(2, len(name)/3) && d < len(low) {
			found = append(found, candidate{shown, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range found[:min(len(found), suggested)] {
		out = append(out, c.name)
	}
	return out
}

// distance is how many bytes have to be changed, added or taken away to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
