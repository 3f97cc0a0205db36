package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// showDryRun prints what differs, for a person.
func (s *shell) showDryRun(d dryRan) error {
	t := columns{right: []bool{true}}
	if len(d.Differences) > 0 {
		t.row("cursor", "time", "session", "tool", "then → now", "rule")
	}
	for _, x := range d.Differences {
		t.row(strconv.FormatUint(x.Cursor, 10), x.Time.Local().Format(time.DateTime), string(x.Session), flat(x.Tool),
			fmt.Sprintf("%s → %s", x.Then, x.Now), oneLine(x.Rule))
	}
	if err := t.print(s.out); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s compared with the policy of %s: %d the same, %d otherwise", counted(d.Compared, "call"), d.Policy, d.Same,
		len(d.Differences))
	for i, kind := range slices.Sorted(maps.Keys(d.Changes)) {
		fmt.Fprintf(&b, "%s%d %s", []string{" (", ", "}[min(i, 1)], d.Changes[kind], kind)
	}
	if len(d.Changes) > 0 {
		b.WriteString(")")
	}
	b.WriteString("\n")
	if d.NotComparable > 0 {
		fmt.Fprintf(&b, "%d not comparable: their arguments are no longer there, or too large\n", d.NotComparable)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
