// Package suggest finds the word that somebody probably meant.
package suggest

import "strings"

// Nearest is the known word closest to what was written, or "" when none is close: at most a third of the letters, and
// one more, may be wrong.
func Nearest(word string, known []string) string {
	best, distance := "", len(word)/3+2
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// Hint says which word was probably meant, or which there are.
func Hint(word string, known []string) string {
	if n := Nearest(word, known); n != "" {
		return `did you mean "` + n + `"?`
	}
	if len(known) == 0 {
		return ""
	}
	return "known here: " + strings.Join(known, ", ")
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours that turn a into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
