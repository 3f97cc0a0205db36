package thread

import (
	"bytes"
	"slices"
)

const (
	fanout  = 16 // one hexadecimal digit of the slot a level
	leafMax = 16 // entries of a leaf before it becomes a branch
)

// entry is one thing that came in. It has no pointers, so that long sessions cost the collector nothing.
type entry struct {
	slot    slot
	cursor  uint64 // of its own event
	outcome uint64 // cursor of what ended it; 0 while pending
	status  Status
}

// table is a persistent map from slot to entry: put returns a new table that shares all but one path with the old one.
// Entries are never removed, leaves are sorted and split by size only, so that equal contents have equal structure
// whatever the order of insertion.
type table struct {
	root *node
	n    int
}

// node is a leaf (kids nil) or a branch (leaf empty); nodes are never written to once they are in a table.
type node struct {
	leaf []entry
	kids *[fanout]*node
}

func (t table) get(s slot) (entry, bool) {
	n := t.root
	for depth := 0; n != nil; depth++ {
		if n.kids == nil {
			i, ok := find(n.leaf, s)
			if !ok {
				return entry{}, false
			}
			return n.leaf[i], true
		}
		n = n.kids[digit(s, depth)]
	}
	return entry{}, false
}

// put adds e, or replaces the entry of its slot.
func (t table) put(e entry) table {
	root, added := put(t.root, 0, e)
	t.root = root
	if added {
		t.n++
	}
	return t
}

func put(n *node, depth int, e entry) (_ *node, added bool) {
	switch {
	case n == nil:
		return &node{leaf: []entry{e}}, true
	case n.kids != nil:
		kids := *n.kids
		d := digit(e.slot, depth)
		kids[d], added = put(kids[d], depth+1, e)
		return &node{kids: &kids}, added
	}
	i, ok := find(n.leaf, e.slot)
	if ok {
		leaf := slices.Clone(n.leaf)
		leaf[i] = e
		return &node{leaf: leaf}, false
	}
	leaf := make([]entry, 0, len(n.leaf)+1)
	leaf = append(append(append(leaf, n.leaf[:i]...), e), n.leaf[i:]...)
	return build(leaf, depth), true
}

// build makes the node of a sorted run of entries and may keep the run.
func build(run []entry, depth int) *node {
	if len(run) <= leafMax {
		return &node{leaf: run}
	}
	var kids [fanout]*node
	for len(run) > 0 {
		d, n := digit(run[0].slot, depth), 1
		for n < len(run) && digit(run[n].slot, depth) == d {
			n++
		}
		kids[d] = build(slices.Clone(run[:n]), depth+1) // a leaf must not hold on to the whole run
		run = run[n:]
	}
	return &node{kids: &kids}
}

// each visits the entries in the order of their slots.
func (t table) each(fn func(entry)) { each(t.root, fn) }

func each(n *node, fn func(entry)) {
	if n == nil {
		return
	}
	for _, e := range n.leaf {
		fn(e)
	}
	if n.kids != nil {
		for _, k := range n.kids {
			each(k, fn)
		}
	}
}

func find(leaf []entry, s slot) (int, bool) {
	return slices.BinarySearchFunc(leaf, s, func(e entry, s slot) int { return bytes.Compare(e.slot[:], s[:]) })
}

func digit(s slot, depth int) byte {
	b := s[depth/2]
	if depth%2 == 0 {
		return b >> 4
	}
	return b & 15
}
