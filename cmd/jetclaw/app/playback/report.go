package playback

import (
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Count says what became of the events.
type Count struct {
	Events   int `json:"events"`
	Decided  int `json:"decided"`  // the machine decides the same today
	Given    int `json:"given"`    // outcomes of effects that the machine asks for today, too, and what endpoints were asked for
	Facts    int `json:"facts"`    // from outside
	Unjudged int `json:"unjudged"` // above a hole, or behind an event of a newer jetclaw
}

func (c *Count) add(o Count) {
	c.Events += o.Events
	c.Decided += o.Decided
	c.Given += o.Given
	c.Facts += o.Facts
	c.Unjudged += o.Unjudged
}

// Compared is how many events were held against a machine.
func (c Count) Compared() int { return c.Decided + c.Given }

// Kind is what is wrong.
type Kind string

// The kinds of findings.
const (
	Different Kind = "different" // today's machine would do something else
	Hole      Kind = "hole"      // an event of the session is missing, and no tombstone explains it
	Newer     Kind = "newer"     // written by a newer jetclaw
	NoEvent   Kind = "no_event"  // a message of the journal that is no event
)

// Finding is one thing that is not as it was, or not as it should be.
type Finding struct {
	Kind        Kind                 `json:"kind"`
	Cursor      uint64               `json:"cursor"`
	Session     session.ID           `json:"session,omitempty"`
	Type        string               `json:"type,omitempty"`
	ID          string               `json:"id,omitempty"`
	Service     string               `json:"service,omitempty"`
	Differences []recheck.Difference `json:"differences,omitempty"`
	Missing     uint64               `json:"missing,omitempty"` // Hole: the cursor that jc-prev names
	Text        string               `json:"text,omitempty"`    // NoEvent: why
}

// Report is the result of Check.
type Report struct {
	Count
	Sessions int       `json:"sessions"`
	Active   int       `json:"active,omitempty"` // of Fold: sessions of which a machine wants something, now or later
	First    *Finding  `json:"first,omitempty"`  // the first difference, by cursor; nothing above it was judged
	Others   []Finding `json:"others,omitempty"`
}

// OK says that there is nothing to find, and that something was compared.
func (r Report) OK() bool { return r.First == nil && len(r.Others) == 0 && r.Compared() > 0 }
