package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// rest waits until the journal of the daemon owes nobody anything and Telegram has nothing left for it, within the time to drain,
// and says how long that took. It returns when the doorbells have had their time too.
func (t *run) rest(ctx context.Context, d *bench.Running) time.Duration {
	began := time.Now()
	deadline := began.Add(t.o.drain + t.o.span())
	var journal []envelope.Event
	for ctx.Err() == nil && time.Now().Before(deadline) {
		news, err := read(ctx, d.Home, journal)
		if err == nil {
			journal = news
			if t.fake.Report().Pending == 0 && t.owed(journal) == 0 {
				break
			}
		} else {
			t.P.Note("the journal cannot be read: %v", err)
		}
		pace.Wait(ctx, bench.RestPoll)
	}
	took := time.Since(began)
	pace.Wait(ctx, max(time.Second, time.Until(d.Started.Add(t.o.settle))))
	return took
}

// read adds what the running daemon's journal has beyond what is known of it.
func read(ctx context.Context, h daemon.Home, journal []envelope.Event) ([]envelope.Event, error) {
	conn, err := h.Dial(ctx, "cli")
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	from := uint64(1)
	if n := len(journal); n > 0 {
		from = journal[n-1].Cursor + 1
	}
	err = conn.Replay(ctx, bus.ReplayOptions{From: from}, func(e envelope.Event) error {
		journal = append(journal, e)
		return nil
	})
	return journal, err
}

// owed is how much is missing still.
func (t *run) owed(journal []envelope.Event) int {
	n := 0
	for _, v := range append(judge.Judge(judge.Evidence{Journal: journal}).Violations, chat.Judge(t.evidence(journal)).Violations...) {
		if v.Kind == judge.Stuck || v.Kind == judge.Lost {
			n++
		}
	}
	return n
}

func (t *run) evidence(journal []envelope.Event) chat.Evidence {
	ev := chat.Evidence{
		Said: t.people.Told(), Journal: journal, Shown: map[int64][]faketelegram.Message{}, Calls: t.fake.Calls(), Report: t.fake.Report(),
	}
	for _, r := range t.people.Rooms {
		ev.Shown[r.ID] = t.fake.Messages(r.ID)
	}
	for _, l := range t.life {
		ev.Kills = append(ev.Kills, l.Killed)
	}
	return ev
}

// judge reads the journal of the stopped daemon and puts everything together.
func (t *run) judge(ctx context.Context, rest time.Duration, stopped error) (report, error) {
	r := report{
		Seed: t.o.Seed, Chats: t.o.chats, Groups: t.o.groups, Updates: t.o.updates, Kills: len(t.life), Rest: rest, Lives: t.life, Faults: t.faults,
		Taps: int(t.people.Taps.Load()),
	}
	var err error
	if r.journal, r.Bells, err = store.Left(ctx, t.home.Data()); err != nil {
		return r, err
	}
	r.Replay = recheck.Journal(ctx, t.Bench, t.home)
	var journal []envelope.Event
	for _, x := range r.journal {
		journal = append(journal, x.Event)
	}
	ev := t.evidence(journal)
	whole := judge.Evidence{Journal: journal, Asked: t.asked(ev.Said)}
	r.Verdict = judge.Judge(whole)
	own := chat.Judge(ev)
	r.Counts, r.Telegram = own.Counts, people.Served(ev.Report)
	r.Verdict.Violations = append(r.Verdict.Violations, own.Violations...)
	r.Verdict.Violations = append(r.Verdict.Violations, r.Replay.Violations(len(journal))...)
	if stopped != nil {
		r.stuck("%v", stopped)
	}
	for _, b := range r.Bells {
		if b.Unsent > 0 || b.Unacked > 0 {
			r.stuck("consumer %s of %s has %d messages undelivered and %d unacknowledged after a clean stop", b.Name, b.Stream, b.Unsent, b.Unacked)
		}
	}
	r.finish(ev)
	if len(r.Verdict.Violations) > 0 {
		r.Home = t.home.Dir
		t.save("verdict.json", r.Verdict)
		t.save("evidence.json", ev)
	}
	return r, nil
}

func (t *run) save(name string, v any) {
	if b, err := json.MarshalIndent(v, "", " "); err == nil {
		_ = os.WriteFile(filepath.Join(t.Dir, name), b, 0o600)
	}
}

func (r *report) stuck(format string, args ...any) {
	r.Verdict.Violations = append(r.Verdict.Violations, judge.Violation{Kind: judge.Stuck, Text: fmt.Sprintf(format, args...)})
}

// asked is how often the model was asked about each message.
func (t *run) asked(said []chat.Said) map[string]int {
	out := map[string]int{}
	for _, s := range said {
		if s.What != chat.Message || marker.First(s.Text) == "" {
			continue
		}
		c := t.model.Tally(s.Marker)
		out[s.Marker] = c.Requests - c.Refused
	}
	return out
}

// finish works out the figures.
func (r *report) finish(ev chat.Evidence) {
	var ready []time.Duration
	for _, l := range r.Lives {
		if l.Early {
			r.Early++
		}
		if !l.Ready.IsZero() {
			ready = append(ready, l.Ready.Sub(l.Started))
		}
	}
	r.Ready = stat.SpreadOf(ready)
	r.Wait = stat.SpreadOf(waits(ev))
	v := r.Verdict
	for _, kind := range judge.Kinds() {
		r.Goals = append(r.Goals, result.Counted("telegram."+string(kind), string(kind), v.Of(kind)))
	}
	count := func(id, what string, n int) { r.Goals = append(r.Goals, result.Counted("telegram."+id, what, n)) }
	r.Goals = append(r.Goals, r.Replay.Goal(len(ev.Journal)))
	count("exceeded", "limits exceeded", r.Telegram.Exceeded)
	count("overlaps", "overlapping polls", r.Telegram.Overlaps)
	count("pending", "updates never confirmed", r.Telegram.Pending)
	r.Goals = append(r.Goals, result.Goal(
		"repeats in chats", fmt.Sprintf("≤ %d unknown", r.Counts.Unknown), fmt.Sprint(r.Counts.Repeats), r.Counts.Repeats <= r.Counts.Unknown).
		As("telegram.repeats").In("", float64(r.Counts.Repeats)))
}

// waits is how long each message waited in the journal for what answers it.
func waits(ev chat.Evidence) []time.Duration {
	came := map[string]time.Time{}
	var out []time.Duration
	for _, e := range ev.Journal {
		switch e.Kind() {
		case "message.received":
			came[e.ID] = e.Time
		case "turn.completed":
			for _, id := range answersOf(e) {
				if at, ok := came[id]; ok {
					out = append(out, e.Time.Sub(at))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
