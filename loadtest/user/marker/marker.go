// Package marker has the words by which a message and its answer are recognised from outside: the load puts one into
// every message, the fake model echoes it, and the judge counts them in journals, replies and pushes.
package marker

import (
	"fmt"
	"regexp"
)

var pattern = regexp.MustCompile(`\bmk-[0-9a-z]+(?:-[0-9]+)*\b`)

// New is the marker of message n of sender s in a run. Distinct arguments give distinct markers; run is of [0-9a-z].
func New(run string, s, n int) string { return fmt.Sprintf("mk-%s-%d-%d", run, s, n) }

// All lists the markers of a text, in order.
func All(text string) []string { return pattern.FindAllString(text, -1) }

// First is the first marker of a text, or "".
func First(text string) string { return pattern.FindString(text) }
