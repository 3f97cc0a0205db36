package check

import (
	"regexp"
	"strings"
)

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchorsOf are the anchors of a document's headings, as the hosts of repositories make them.
func anchorsOf(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(m[1])) {
			switch {
			case r == ' ':
				b.WriteRune('-')
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return all
}
