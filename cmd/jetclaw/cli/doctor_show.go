package cli

import (
	"fmt"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
)

// findingsShown is how many findings of one kind a person is shown.
const findingsShown = 20

// showFindings prints a report for a person. What is to be done about several things is said once, below the last one in a row.
func (s *shell) showFindings(r health.Report) error {
	mark := map[health.Severity]string{health.Fine: "ok     ", health.Warning: "warning", health.Problem: "PROBLEM"}
	if s.colour(s.outTTY) {
		mark = map[health.Severity]string{
			health.Fine: "\x1b[32mok\x1b[0m     ", health.Warning: "\x1b[33mwarning\x1b[0m", health.Problem: "\x1b[31mPROBLEM\x1b[0m",
		}
	}
	shown := map[string]int{}
	fix := "" // of what was printed last
	say := func() (err error) {
		if fix != "" {
			_, err = fmt.Fprintf(s.out, "         %s\n", flat(fix))
		}
		fix = ""
		return err
	}
	for _, f := range r.Findings {
		if shown[f.ID]++; shown[f.ID] > findingsShown {
			continue
		}
		if f.Fix != fix {
			if err := say(); err != nil {
				return err
			}
		}
		fix = f.Fix
		if _, err := fmt.Fprintf(s.out, "%s  %s: %s\n", mark[f.Severity], flat(f.Check), flat(f.Text)); err != nil {
			return err
		}
	}
	if err := say(); err != nil {
		return err
	}
	for _, f := range r.Findings {
		if more := shown[f.ID] - findingsShown; more > 0 {
			shown[f.ID] = 0
			if _, err := fmt.Fprintf(s.out, "%s  %s: and %d more like these; --json shows all\n", mark[f.Severity], flat(f.Check), more); err != nil {
				return err
			}
		}
	}
	return nil
}
