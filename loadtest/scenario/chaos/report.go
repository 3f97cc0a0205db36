package chaos

import (
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// report is what --json prints. Durations are in nanoseconds; fields are only added.
type report struct {
	Seed     uint64          `json:"seed"`
	Each     int             `json:"each"` // processes of every service
	For      time.Duration   `json:"for_ns"`
	Times    times           `json:"times"`
	Timeline []*strike       `json:"timeline"`
	Ends     []ending        `json:"ends"`
	Faults   []faultReport   `json:"faults"`
	Appends  float64         `json:"appends_per_second"`
	Gaps     []quiet         `json:"gaps"`   // the longest times without an append while people wrote
	Copies   []int           `json:"copies"` // events that each server has stored
	Errors   map[string]int  `json:"errors"` // lines of logs, by process
	Chats    chat.Counts     `json:"chats"`
	Telegram people.Counted  `json:"telegram"`
	Verdict  judge.Verdict   `json:"verdict"`
	Goals    []result.Figure `json:"goals"`
	Home     string          `json:"home,omitempty"`
	journal  []store.Record
	stored   []time.Time // of each event, by the clock of the servers
}

// faultReport is what all strikes of a kind did.
type faultReport struct {
	Fault   string      `json:"fault"`
	N       int         `json:"n"`
	Span    stat.Spread `json:"span"`
	First   stat.Spread `json:"first_append"` // from its beginning to the first append
	Quiet   stat.Spread `json:"quiet"`        // the longest time without an append that it saw
	Resumed int         `json:"resumed"`      // turns that another process went on with meanwhile, or soon after
	Unknown int         `json:"unknown"`      // outcomes that nobody knows, of calls and deliveries
}

// quiet is a time without an append.
type quiet struct {
	From   time.Time     `json:"from"`
	Took   time.Duration `json:"took_ns"`
	Faults []string      `json:"faults"` // that were under way
}

const (
	after    = 10 * time.Second // what comes so soon after a fault counts as its effect
	gapsTold = 8
	gapLeast = 2 * time.Second
)

func (r *report) finish(journal []envelope.Event) {
	if n := len(r.stored); n > 1 {
		within := 0
		for _, at := range r.stored {
			if at.Before(r.Times.Healed) {
				within++
			}
		}
		r.Appends = float64(within) / r.Times.Healed.Sub(r.Times.Began).Seconds()
	}
	r.gaps()
	r.effects(journal)
	v := r.Verdict
	for _, kind := range judge.Kinds() {
		r.Goals = append(r.Goals, result.Counted("chaos."+string(kind), string(kind), v.Of(kind)))
	}
}

// gaps finds the longest times without an append.
func (r *report) gaps() {
	for i := 1; i < len(r.stored); i++ {
		from, to := r.stored[i-1], r.stored[i]
		if to.Sub(from) < gapLeast || from.After(r.Times.Healed) {
			continue
		}
		g := quiet{From: from, Took: to.Sub(from)}
		for _, s := range r.Timeline {
			if s.From.Before(to) && s.Until.Add(after).After(from) {
				g.Faults = append(g.Faults, s.Fault+" "+s.Target)
			}
		}
		r.Gaps = append(r.Gaps, g)
	}
	slices.SortFunc(r.Gaps, func(a, b quiet) int { return int(b.Took - a.Took) })
	r.Gaps = r.Gaps[:min(len(r.Gaps), gapsTold)]
}

// effects says what each kind of fault did.
func (r *report) effects(journal []envelope.Event) {
	type sums struct {
		span, first, quiet []time.Duration
		resumed, unknown   int
	}
	all := map[string]*sums{}
	for _, s := range r.Timeline {
		x := all[s.Fault]
		if x == nil {
			x = &sums{}
			all[s.Fault] = x
		}
		x.span = append(x.span, s.Until.Sub(s.From))
		first, longest, last := time.Duration(-1), time.Duration(0), s.From
		for _, at := range r.stored {
			if at.Before(s.From) {
				continue
			}
			if first < 0 {
				first = at.Sub(s.From)
			}
			longest = max(longest, at.Sub(last))
			if last = at; at.After(s.Until) {
				break
			}
		}
		x.first, x.quiet = append(x.first, max(0, first)), append(x.quiet, longest)
		for _, e := range journal {
			if e.Time.Before(s.From) || e.Time.After(s.Until.Add(after)) {
				continue
			}
			switch b := e.Body.(type) {
			case turnv1.Resumed:
				x.resumed++
			default:
				if unknown(b) {
					x.unknown++
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x := all[name]
		r.Faults = append(r.Faults, faultReport{
			Fault: name, N: len(x.span), Span: stat.SpreadOf(x.span), First: stat.SpreadOf(x.first), Quiet: stat.SpreadOf(x.quiet),
			Resumed: x.resumed, Unknown: x.unknown,
		})
	}
}

// Story tells what is broken.
func (r report) Story() trial.Story {
	return trial.Story{Verdict: r.Verdict, Home: r.Home, Journal: r.journal}
}

func (r report) Print(p console.Printer) {
	c := r.Verdict.Counts
	p.Say("Chaos for %s, seed %d, %d processes of every service, three NATS servers with a copy each: %d faults.", r.For, r.Seed, r.Each, len(r.Timeline))
	p.Say("%d sessions, %d messages, %d events (%.0f a second); %d turns taken over, %d messages stopped, %d interrupted, %d steered",
		c.Sessions, c.Accepted, sum(c.Events), r.Appends, c.Takeovers, c.Stopped, c.Interrupt, c.Steered)
	p.Say("%d tool calls: %v; %d claimed again. %d approvals: %v. %d pushes, %d of them repeats as recorded",
		c.Calls, c.Outcomes, c.Again, c.Approvals, c.Answers, c.Pushed, c.Repeated)
	p.Say("Telegram: %d messages, %d commands, %d edits, %d answers; %d polls overlapped; %d messages came too soon",
		r.Chats.Messages, r.Chats.Commands, r.Chats.Edits, r.Chats.Answers, r.Telegram.Overlaps, r.Telegram.Exceeded)
	p.Say("copies: %v events. From the end of the last fault: every session has answered again after %.1f s, nothing is owed after %.1f s",
		r.Copies, r.Times.Answered.Seconds(), r.Times.Rested.Seconds())
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\nfault\tn\tlong p50 s\tfirst append p50/max s\tquiet p50/max s\tresumed\tunknown\t")
	for _, f := range r.Faults {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%.2f / %.2f\t%.2f / %.2f\t%d\t%d\t\n", f.Fault, f.N, f.Span.P50.Seconds(),
			f.First.P50.Seconds(), f.First.Max.Seconds(), f.Quiet.P50.Seconds(), f.Quiet.Max.Seconds(), f.Resumed, f.Unknown)
	}
	_ = w.Flush()
	if len(r.Gaps) > 0 {
		p.Say("\nlongest times without an append:")
		for _, g := range r.Gaps {
			p.Say("  %s  %.1f s  %s", g.From.UTC().Format(clockTime), g.Took.Seconds(), joined(g.Faults))
		}
	}
	if len(r.Ends) > 0 {
		p.Say("\nprocesses that have ended by themselves, and were started again:")
		for _, e := range r.Ends {
			p.Say("  %s  %s  %s  ready before: %v", e.At.UTC().Format(clockTime), e.Name, e.How, e.Ready)
		}
	}
	p.Say("")
	bench.PrintGoals(p, r.Goals)
	if len(r.Verdict.Violations) > 0 {
		p.Say("\ntimeline of seed %d:", r.Seed)
		for _, s := range r.Timeline {
			p.Say("  %s  %s", s.From.UTC().Format(clockTime), s)
		}
	}
}

func sum(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}
