package files

import (
	"fmt"
	"strings"
)

const (
	maxCompared = 20_000 // lines
	maxCompare  = 200    // bytes of each
	alike       = 0.5
)

// nearest says where in text something like old is: the line that is most like the first line of old that has words. It
// tells the line as it is, for what differs is often white space or a sign that only looks the same.
func nearest(text, old string) string {
	var want string
	for line := range strings.SplitSeq(old, "\n") {
		if want = strings.TrimSpace(line); want != "" {
			break
		}
	}
	if want == "" {
		return "; look at it with read_file"
	}
	pairs := pairsOf(want)
	best, at, is := 0.0, 0, ""
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if n++; n > maxCompared {
			break
		}
		if got := similarity(pairs, want, line, best); got > best {
			best, at, is = got, n, line
		}
	}
	if best < alike {
		return "; look at it with read_file"
	}
	if strings.TrimSpace(is) == want && strings.Contains(old, "\n") {
		return fmt.Sprintf("; line %d is like its beginning: compare the white space and the lines that follow", at)
	}
	return fmt.Sprintf("; line %d is most like it: %q", at, strings.ToValidUTF8(is[:min(len(is), maxCompare)], ""))
}

// similarity of a line with what is wanted, from 0 to 1: how many pairs of bytes they share (Dice). It is 0 when it cannot
// be more than least.
func similarity(pairs map[string]int, want, line string, least float64) float64 {
	line = strings.TrimSpace(line)
	if line == want {
		return 1
	}
	line = line[:min(len(line), maxCompare)]
	if len(line) < 2 || len(want) < 2 {
		return 0
	}
	a, b := min(len(want), maxCompare)-1, len(line)-1
	if 2*float64(min(a, b)) <= least*float64(a+b) {
		return 0
	}
	shared, left := 0, make(map[string]int, len(line))
	for i := range len(line) - 1 {
		pair := line[i : i+2]
		if left[pair] < pairs[pair] {
			left[pair]++
			shared++
		}
	}
	return 2 * float64(shared) / float64(a+b)
}

func pairsOf(s string) map[string]int {
	s = s[:min(len(s), maxCompare)]
	pairs := make(map[string]int, len(s))
	for i := range max(len(s)-1, 0) {
		pairs[s[i:i+2]]++
	}
	return pairs
}
