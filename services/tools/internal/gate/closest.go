package gate

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is how many names a message lists.
const maxListed = 12

// closest ends a message about a name that nobody knows: the nearest ones, or, when few is set and nothing is near, all.
func closest(name string, have []string, few bool) string {
	type near struct {
		name string
		far  int
	}
	var found []near
	low := strings.ToLower(name)
	for _, h := range have {
		if len(h) > 64 || len(name) > 64 {
			continue
		}
		d := distance(low, strings.ToLower(h))
		if strings.Contains(low, strings.ToLower(h)) || strings.Contains(strings.ToLower(h), low) && len(low) > 2 {
			d = min(d, 1)
		}
		if d <= 1+len(h)/4 {
			found = append(found, near{h, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.far - b.far })
	switch {
	case len(found) > 0:
		names := make([]string, 0, 3)
		for _, f := range found[:min(len(found), 3)] {
			names = append(names, f.name)
		}
		return "; did you mean " + strings.Join(names, ", ") + "?"
	case few && len(have) > 0 && len(have) <= maxListed:
		return "; there is " + strings.Join(have, ", ")
	}
	return ""
}

// instead ends a message about a tool that nobody offers. Where nothing is near, a name of a server's tool (server__tool) is
// told what that server has: its list may have changed since the model has seen it.
func instead(name string, have []string) string {
	if hint := closest(name, have, true); hint != "" {
		return hint
	}
	server, _, ok := strings.Cut(name, inServer)
	if !ok || server == "" {
		return ""
	}
	same := slices.DeleteFunc(slices.Clone(have), func(h string) bool { return !strings.HasPrefix(h, server+inServer) })
	switch n := len(same); {
	case n == 0:
		return ""
	case n > maxListed:
		return fmt.Sprintf("; %s has %s and %d others", quote(server), strings.Join(same[:maxListed], ", "), n-maxListed)
	default:
		return fmt.Sprintf("; %s has %s", quote(server), strings.Join(same, ", "))
	}
}

// inServer stands between the name of a server and that of its tool.
const inServer = "__"

// distance is how many letters have to be changed, added or removed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
