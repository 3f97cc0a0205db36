package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/scenario/sizes"
)

// markdown is the whole report.
func (r *reported) markdown(m result.Machine, now time.Time, took time.Duration) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# What jetclaw reaches\n")
	say("Made by `just report` on %s in %s: %s.", now.UTC().Format("2006-01-02"), took.Round(time.Second), m)
	say("Each step measures its floor in the same run; measured is the median of the rounds [lowest–highest], the ratio that of the rounds' own.")
	say("A turn is one message over HTTP, an instant model over HTTP with streaming, and the reply fetched. README explains the floors.")
	if r.f.quick {
		say("\n**Made with `--quick`: every step was as short as possible, and the figures mean little.**")
	}
	for _, s := range sections() {
		var rows []string
		for _, x := range s.rows {
			if stepOf(x.step) != nil && (r.f.only == "" || r.ran(x.step)) {
				rows = append(rows, r.row(x))
			}
		}
		if len(rows) == 0 {
			continue
		}
		say("\n## %s\n", s.title)
		say("| figure | goal | measured | floor | ratio | |\n|---|---|---|---|---|---|")
		b.WriteString(strings.Join(rows, ""))
	}
	if res, ok := r.results["sizes"]; ok {
		b.WriteString(sizes.Paper(res))
	}
	say("\n## How\n")
	for _, s := range r.steps() {
		if err := r.trouble[s.Name]; err != nil {
			say("- `%s` came to nothing: %s", s.Full, firstLine(err))
			continue
		}
		line := s.Full
		if r.f.quick {
			line = s.Quick
		}
		res := r.results[s.Name]
		seed := ""
		if res.Seed != 0 {
			seed = fmt.Sprintf(", seed %d", res.Seed)
		}
		say("- `go run ./loadtest %s`: %s%s", line, res.Took.Round(time.Second), seed)
	}
	return b.String()
}

func (r *reported) ran(step string) bool {
	_, ok := r.results[step]
	return ok || r.trouble[step] != nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// row is a line of a table.
func (r *reported) row(x row) string {
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	f, ok := r.results[x.step].Figure(x.id)
	if !ok {
		why := "the step has no such figure"
		if err := r.trouble[x.step]; err != nil {
			why = "the step came to nothing"
		}
		return fmt.Sprintf("| %s | %s | not measured: %s | | | |\n", cell(x.name), cell(x.goal), why)
	}
	measured := f.Measured()
	if len(f.Values) > 0 {
		measured = result.With(f.Value, f.Unit)
	}
	if s := f.Spread(); s != "" {
		measured += " " + s
	}
	floor, ratio := "", ""
	if f.Floor > 0 {
		floor, ratio = result.With(f.Floor, f.Unit), result.With(f.Ratio, "×")
	}
	verdict := "met"
	switch {
	case x.goal == "":
		verdict = ""
	case !x.met(f):
		verdict = "**missed**: " + cmp.Or(x.why, "why is not known yet")
		if r.f.quick {
			verdict = "**missed**"
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", cell(x.name), cell(x.goal), cell(measured), floor, ratio, cell(verdict))
}

// goalCPUms is what a turn may use in any line; the scenario has the worst line as its figure.
const goalCPUms = 1

// met is what the scenario says; a figure that has no goal there has that of the design.
func (x row) met(f result.Figure) bool {
	if strings.HasPrefix(x.id, "turn.cpu.") {
		return f.Value <= goalCPUms
	}
	return f.Met
}
