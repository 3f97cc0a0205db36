package telegram

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

const (
	waitingUpdates = 5000
	goalIntake     = 1000             // updates a second, with sync interval
	intakeAtOnce   = 64               // appends that the floor has under way
	rateTime       = 2 * time.Minute  // for all turns of a round, beyond a hundred a second
	shownTime      = 30 * time.Second // for all answers, beyond what Telegram's limits need
	ratePoll       = 20 * time.Millisecond
)

// rateReport is what `telegram --rate --json` prints. Durations are in nanoseconds; fields are only added.
type rateReport struct {
	Updates   int             `json:"updates"`
	Chats     int             `json:"chats"`
	Sync      string          `json:"sync"`
	PerSecond float64         `json:"per_second"` // median of the rounds, as all of these
	Took      time.Duration   `json:"took_ns"`    // first message received to the last
	First     time.Duration   `json:"first_ns"`   // start of the daemon to the first
	Answered  time.Duration   `json:"answered_ns"`
	Shown     time.Duration   `json:"shown_ns"` // of the last round: start of the daemon to the last answer in its chat
	Floor     float64         `json:"floor_per_second"`
	Ratio     float64         `json:"ratio"`
	Rounds    []rateRound     `json:"rounds"`
	Goals     []result.Figure `json:"goals"`
}

type rateRound struct {
	PerSecond float64        `json:"per_second"`
	Took      time.Duration  `json:"took_ns"`
	First     time.Duration  `json:"first_ns"`
	Answered  time.Duration  `json:"answered_ns"` // start of the daemon to the end of the last turn
	Shown     time.Duration  `json:"shown_ns"`    // 0: not waited for
	Step      floor.Step     `json:"step"`        // message.received, in the mean
	Floor     floor.Appended `json:"floor"`
}

// rateCommand measures how fast updates come in that wait when the daemon starts.
func rateCommand(ctx context.Context, f bench.Flags, o options, rounds int, p console.Printer) error {
	p.Note("seed %d", o.Seed)
	limit := time.Duration(rounds) * (rateTime + time.Duration(o.updates)*time.Second/20 + shownTime + time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	return bench.Shown(ctx, f, p, func(ctx context.Context, b *bench.Bench) (rateReport, error) { return rates(ctx, b, o, rounds) })
}

func rates(ctx context.Context, b *bench.Bench, o options, rounds int) (rateReport, error) {
	r := rateReport{Updates: o.updates, Chats: o.chats, Sync: o.sync}
	for i := range rounds {
		b.P.Note("round %d of %d: %d updates of %d chats wait, sync %s", i+1, rounds, o.updates, o.chats, o.sync)
		one, err := oneRate(ctx, b, o, i, i+1 == rounds)
		if err != nil {
			return r, err
		}
		r.Rounds = append(r.Rounds, one)
	}
	r.finish()
	return r, nil
}

// rateRound is one daemon, and the floor right after it. The answers are bound by Telegram's limits, which the daemon keeps
// whatever the server allows: only the last round waits for them.
func oneRate(ctx context.Context, b *bench.Bench, o options, n int, last bool) (r rateRound, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	fake, err := faketelegram.Start(faketelegram.Options{Limits: faketelegram.Limits{Off: true}})
	if err != nil {
		return r, err
	}
	defer fake.Close()
	p, err := people.New(fake, fmt.Sprintf("r%d", n), o.Seed, o.chats, 0)
	if err != nil {
		return r, err
	}
	for i := range o.updates {
		room := p.Rooms[i%len(p.Rooms)]
		fake.Say("", room.Chat, room.Members[0], marker.New(p.Run, room.N, i)+" when does the train leave tomorrow?")
	}
	h, err := b.HomeOf(fmt.Sprintf("rate-%d", n), daemon.Config{Sync: o.sync, ModelURL: m.URL(), Telegram: &daemon.Telegram{
		Token: faketelegram.DefaultToken, APIRoot: fake.URL(),
	}})
	if err != nil {
		return r, err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return r, err
	}
	defer d.Kill()
	patience := rateTime + time.Duration(o.updates)*time.Second/100
	if err := until(ctx, patience, func() bool { return m.Counts().Total.Answered >= o.updates }); err != nil {
		return r, fmt.Errorf("%d of %d messages have an answer: %w\n%s", m.Counts().Total.Answered, o.updates, err, daemon.LogTail(h.LogFile()))
	}
	if last {
		patience = shownTime + time.Duration(o.updates)*time.Second/20
		if err := until(ctx, patience, func() bool { return fake.Report().Messages >= o.updates }); err != nil {
			return r, fmt.Errorf("%d of %d answers are shown: %w\n%s", fake.Report().Messages, o.updates, err, daemon.LogTail(h.LogFile()))
		}
		r.Shown = time.Since(d.Started)
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return r, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	if err := r.read(ctx, h, d.Started, o.updates); err != nil {
		return r, err
	}
	if !b.Keep {
		_ = os.RemoveAll(h.Dir)
	}
	r.Floor, err = floor.Append(ctx, floor.Appends{Sync: o.sync, Sessions: o.chats, Events: o.updates, AtOnce: intakeAtOnce, Step: r.Step})
	return r, err
}

// until waits for something to be so.
func until(ctx context.Context, patience time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	for !ok() {
		if !pace.Wait(ctx, ratePoll) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// read takes the times from the journal of the stopped daemon.
func (r *rateRound) read(ctx context.Context, h daemon.Home, started time.Time, updates int) error {
	st, err := store.Open(h.Data())
	if err != nil {
		return err
	}
	defer st.Close()
	journal, err := st.Journal(ctx)
	if err != nil {
		return err
	}
	var first, last, answered time.Time
	n := 0
	for _, x := range journal {
		switch x.Body.(type) {
		case messagev1.Received:
			if n++; n == 1 {
				first = x.Stored
			}
			last = x.Stored
			r.Step.Kind = x.Kind()
			r.Step.Header, r.Step.Data = r.Step.Header+x.Header, r.Step.Data+x.Data
			if e, err := subject.ParseEvent(x.Subject); err == nil {
				r.Step.Suffix = e.Suffix
			}
		default:
			if x.Kind() == "turn.completed" {
				answered = x.Stored
			}
		}
	}
	if n != updates {
		return fmt.Errorf("the journal has %d messages, and %d were written", n, updates)
	}
	r.Step.Header, r.Step.Data = r.Step.Header/n, r.Step.Data/n
	r.Took, r.First, r.Answered = last.Sub(first), first.Sub(started), answered.Sub(started)
	r.PerSecond = float64(n-1) / max(r.Took, time.Millisecond).Seconds()
	return nil
}

func (r *rateReport) finish() {
	var rate, bare []float64
	var took, first, answered []time.Duration
	for _, x := range r.Rounds {
		rate, bare = append(rate, x.PerSecond), append(bare, x.Floor.PerSecond)
		took, first, answered = append(took, x.Took), append(first, x.First), append(answered, x.Answered)
		r.Shown = max(r.Shown, x.Shown)
	}
	r.PerSecond, r.Floor = stat.Median(rate), stat.Median(bare)
	r.Took, r.First, r.Answered = stat.Median(took), stat.Median(first), stat.Median(answered)
	r.Ratio = stat.Ratio(r.PerSecond, r.Floor)
	if r.Sync == "interval" {
		r.Goals = []result.Figure{result.Goal("intake of updates that wait", "≥ 1,000/s", fmt.Sprintf("%.0f/s", r.PerSecond), r.PerSecond >= goalIntake).
			As("telegram.intake").In("updates/s", rate...).Beside(bare...)}
	}
}

func (r rateReport) Print(p console.Printer) {
	p.Say("%d updates of %d chats wait when the daemon starts, sync %s; medians of %d rounds", r.Updates, r.Chats, r.Sync, len(r.Rounds))
	p.Say("intake: %.0f updates/s (%.2f s from the first message.received to the last; the first %.0f ms after the start), while turns run beside it",
		r.PerSecond, r.Took.Seconds(), stat.MS(r.First))
	if n := len(r.Rounds); n > 0 {
		s := r.Rounds[n-1].Step
		p.Say("floor: %.0f appends/s of %d+%d bytes on a bare bus, %d at once; intake / floor: %.2f", r.Floor, s.Header, s.Data, intakeAtOnce, r.Ratio)
	}
	p.Say("all turns have ended %.1f s after the start; all answers stand in their chats after %.1f s (30 a second are allowed: %.0f s at the least)",
		r.Answered.Seconds(), r.Shown.Seconds(), float64(r.Updates)/30)
	for i, x := range r.Rounds {
		p.Say("  round %d: %.0f/s, floor %.0f/s, turns %.1f s", i+1, x.PerSecond, x.Floor.PerSecond, x.Answered.Seconds())
	}
	bench.PrintGoals(p, r.Goals)
}
