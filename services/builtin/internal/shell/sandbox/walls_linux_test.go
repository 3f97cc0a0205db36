package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// roots are where homes lie: in the folder that a namespace replaces, and in another.
var roots = []string{"/tmp", "/var/tmp"}

// private are attacks that work in a /tmp of one's own, where nothing comes of them.
var private = []string{"change config", "cut config", "mode of home", "write above", "write home"}

// TestAttacks: nothing of what a program could try works in any sandbox, nobody outside notices anything, and nothing outside
// has changed.
func TestAttacks(t *testing.T) {
	for _, root := range roots {
		t.Run(strings.TrimPrefix(root, "/"), func(t *testing.T) {
			s := newScene(t, root)
			boxes(t, s.hidden(), func(t *testing.T, b *Box) {
				before := s.state(t)
				worked, tried := s.attack(t, b, false)
				if len(tried) != len(attacks) {
					t.Errorf("tried %d of %d attacks", len(tried), len(attacks))
				}
				for _, name := range worked {
					// A workspace below /tmp lies in folders of the command's own /tmp.
					if root != ownTemp || b.kind == bare || !slices.Contains(private, name) {
						t.Errorf("attack worked: %s", name)
					}
				}
				if n := s.hits.Load(); n != 0 {
					t.Errorf("listeners were reached %d times", n)
				}
				if after := s.state(t); after != before {
					t.Errorf("changed outside of the workspace: from\n%s\nto\n%s", before, after)
				}
			})
		})
	}
}

// TestAttacksAreFair: the same attacks work without a sandbox. Else they would prove nothing.
func TestAttacksAreFair(t *testing.T) {
	s := newScene(t, "/tmp")
	b, err := New(Options{Mode: None, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	worked, tried := s.attack(t, b, true)
	for _, name := range tried {
		if !slices.Contains(worked, name) {
			t.Errorf("fails without a sandbox too: %s", name)
		}
	}
	if len(tried) < 20 || s.hits.Load() < 3 {
		t.Errorf("tried %d attacks, and %d listeners noticed", len(tried), s.hits.Load())
	}
}
