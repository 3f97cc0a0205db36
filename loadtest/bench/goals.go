package bench

import (
	"fmt"
	"text/tabwriter"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// PrintGoals is a table of goals and what was measured.
func PrintGoals(p console.Printer, goals []result.Figure) {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nfigure\tgoal\tmeasured\t")
	for _, g := range goals {
		verdict := "missed"
		if g.Met {
			verdict = "met"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", g.Name, g.Goal, g.Said, verdict)
	}
	_ = w.Flush()
}
