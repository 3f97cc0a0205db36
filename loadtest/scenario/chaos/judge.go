package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// times of a run.
type times struct {
	Began    time.Time     `json:"began"`
	Healed   time.Time     `json:"healed"`      // the last fault was over and everything ready again
	Answered time.Duration `json:"answered_ns"` // from then until every session had answered once more
	Rested   time.Duration `json:"rested_ns"`   // from then until nothing was owed to anybody
}

// rest waits until the journal owes nobody anything, and says how long after the healing that was. The doorbells of the dead come
// again within it.
func (k *run) rest(ctx context.Context, p *parade, healed time.Time) (journal []envelope.Event, rested time.Duration) {
	deadline := time.Now().Add(restBound)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		p.supervise(ctx)
		pending := k.chats.fake.Report().Pending // before the journal: what is confirmed is in there
		news, err := k.read(ctx, journal)
		if err != nil {
			k.P.Note("the journal cannot be read: %v", err)
		} else if journal = news; !k.owed(journal) && pending == 0 {
			break
		}
		pace.Wait(ctx, bench.RestPoll)
	}
	rested = time.Since(healed)
	pace.Wait(ctx, time.Until(healed.Add(settleTime)))
	if news, err := k.read(ctx, journal); err == nil {
		journal = news
	}
	return journal, rested
}

// settleTime is how long after the last fault a run ends at the earliest: deliveries to the dead come again within it.
const settleTime = 12 * time.Second

// read adds what the journal has beyond what is known of it, straight from the servers.
func (k *run) read(ctx context.Context, journal []envelope.Event) ([]envelope.Event, error) {
	from := uint64(1)
	if n := len(journal); n > 0 {
		from = journal[n-1].Cursor + 1
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := k.cluster.Dial(ctx, "cli")
	if err != nil {
		return journal, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.Replay(ctx, bus.ReplayOptions{From: from}, func(e envelope.Event) error {
		journal = append(journal, e)
		return nil
	})
	return journal, err
}

func (k *run) owed(journal []envelope.Event) bool {
	for _, v := range append(judge.Judge(judge.Evidence{Journal: journal}).Violations, chat.Judge(k.chats.evidence(journal)).Violations...) {
		if v.Kind == judge.Stuck || v.Kind == judge.Lost {
			return true
		}
	}
	return false
}

// judge stops everything and puts together what it was.
func (k *run) judge(ctx context.Context, p *parade, journal []envelope.Event, t times) (r report, err error) {
	r = report{Seed: k.o.Seed, Each: k.o.each, For: k.o.span, Times: t, Timeline: p.timeline(), Ends: p.ends, Home: k.Dir}
	ev, err := k.evidence(journal)
	if err != nil {
		return r, err
	}
	r.Verdict = judge.Judge(ev)
	own := chat.Judge(k.chats.evidence(journal))
	r.Chats, r.Telegram = own.Counts, people.Served(k.chats.fake.Report())
	r.Verdict.Violations = append(r.Verdict.Violations, own.Violations...)
	r.Verdict.Violations = append(r.Verdict.Violations, k.crowd.Found...)
	for id, played := range k.crowd.Played {
		if !played.Last {
			r.say(judge.Violation{Kind: judge.Stuck, Session: id, Text: "it did not answer another message after all faults"})
		}
	}
	for _, e := range p.ends {
		if e.Ready {
			text := fmt.Sprintf("%s ended by itself at %s: %s\n%s", e.Name, e.At.UTC().Format(clockTime), e.How, e.Log)
			r.say(judge.Violation{Kind: judge.Failed, Text: text})
		}
	}
	if err := k.cluster.Stop(); err != nil {
		r.say(judge.Violation{Kind: judge.Stuck, Text: err.Error()})
	}
	r.bells(ctx, k)
	r.copies(ctx, k, journal)
	if err := k.cluster.StopNATS(); err != nil {
		k.P.Note("%v", err)
	}
	r.logs(k)
	for _, e := range journal {
		r.journal = append(r.journal, store.Record{Event: e})
	}
	r.finish(journal)
	if len(r.Verdict.Violations) > 0 || k.Keep {
		k.save(journal)
		if b, err := json.MarshalIndent(r, "", " "); err == nil {
			_ = os.WriteFile(filepath.Join(k.Dir, "verdict.json"), b, 0o600)
		}
	}
	return r, nil
}

// save keeps the journal, a line an event.
func (k *run) save(journal []envelope.Event) {
	f, err := os.Create(filepath.Join(k.Dir, "journal.jsonl"))
	if err != nil {
		k.P.Note("%v", err)
		return
	}
	defer func() { _ = f.Close() }()
	w := json.NewEncoder(f)
	for _, e := range journal {
		_ = w.Encode(map[string]any{
			"cursor": e.Cursor, "prev": e.Prev, "time": e.Time, "session": e.Session, "kind": e.Kind(), "id": e.ID, "cause": e.Cause,
			"source": e.Source, "data": e.Body,
		})
	}
}

func (k *run) evidence(journal []envelope.Event) (judge.Evidence, error) {
	ev := k.crowd.Evidence(k.model)
	ev.Journal, ev.Pushed, ev.Decisions = journal, map[string]int{}, k.decisions()
	ev.Again = map[string]bool{"now": true, peer.Name + "__" + fakemcp.Look: true, peer.Name + "__" + fakemcp.Put: true}
	for _, s := range k.chats.people.Told() {
		if s.What == chat.Message && marker.First(s.Text) != "" {
			t := k.model.Tally(s.Marker)
			ev.Asked[s.Marker] = t.Requests - t.Refused
		}
	}
	for _, p := range k.sink.Pushes() {
		ev.Pushed[p.Marker]++
	}
	var err error
	if ev.Lines, err = crowd.LinesOf(filepath.Join(k.Dir, "cluster", "workspace")); err != nil {
		return ev, err
	}
	ledger := fakemcp.Ledger(k.ledgerFile())
	done, err := ledger.Effects(fakemcp.Append)
	if err != nil {
		return ev, err
	}
	for line, n := range done {
		ev.Lines[line] += n
	}
	again, err := ledger.Effects(fakemcp.Put)
	for line := range again {
		ev.Lines[line] = 1 // as often as it likes
	}
	return ev, err
}

func (r *report) say(v judge.Violation) {
	r.Verdict.Violations = append(r.Verdict.Violations, v)
}

// bells: what rings is acknowledged when all is quiet.
func (r *report) bells(ctx context.Context, k *run) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, name := range []string{subject.Journal, subject.Timers} {
		st, err := k.admin.JetStream().Stream(ctx, name)
		if err != nil {
			r.say(judge.Violation{Kind: judge.Stuck, Text: fmt.Sprintf("stream %s: %v", name, err)})
			continue
		}
		list := st.ListConsumers(ctx)
		for i := range list.Info() {
			if i.Config.Durable != "" && (i.NumPending > 0 || i.NumAckPending > 0) {
				text := fmt.Sprintf("consumer %s of %s has %d messages undelivered and %d unacknowledged after a clean stop",
					i.Config.Durable, name, i.NumPending, i.NumAckPending)
				r.say(judge.Violation{Kind: judge.Stuck, Text: text})
			}
		}
		if err := list.Err(); err != nil {
			r.say(judge.Violation{Kind: judge.Stuck, Text: fmt.Sprintf("consumers of %s: %v", name, err)})
		}
		if err := synced(ctx, k, name); err != nil {
			r.say(judge.Violation{Kind: judge.Broken, Text: err.Error()})
		}
	}
}

// synced waits until every copy of a stream is up to date, as the servers say.
func synced(ctx context.Context, k *run, name string) error {
	for {
		st, err := k.admin.JetStream().Stream(ctx, name)
		if err == nil {
			c := st.CachedInfo().Cluster
			late := func(p *jetstream.PeerInfo) bool { return !p.Current || p.Lag > 0 || p.Offline }
			behind := slices.ContainsFunc(c.Replicas, late)
			if !behind && len(c.Replicas) == len(k.cluster.Nodes)-1 {
				return nil
			}
			err = errors.New("copies that are not up to date")
		}
		if !pace.Wait(ctx, bench.RestPoll) {
			return fmt.Errorf("stream %s has not come to rest: %w", name, err)
		}
	}
}

// panicked are lines that no log of a service has. An answer that the server does not let through is none of them: the right to give
// it goes with the connection that the question came over.
var panicked = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|.*"msg":"panic.*|` +
	`.*the bus refused what this service may not do.*Publish to \\"[^_].*|.*the bus refused what this service may not do.*Subscription.*)$`)

// logs: no process has panicked, or tried what it may not do.
func (r *report) logs(k *run) {
	r.Errors = map[string]int{}
	look := func(name, file string) {
		b, err := os.ReadFile(file)
		if err != nil {
			return
		}
		for _, m := range panicked.FindAll(b, 3) {
			r.say(judge.Violation{Kind: judge.Failed, Text: fmt.Sprintf("%s: %.400s", name, m)})
		}
		r.Errors[name] += bytes.Count(b, []byte(`"level":"ERROR"`))
	}
	for _, s := range k.cluster.Services {
		look(s.Name, s.Home.LogFile())
	}
	for _, x := range k.cluster.Nodes {
		look(x.Name, x.LogFile())
	}
}

// copies reads what every server has stored, and holds it against the journal.
func (r *report) copies(ctx context.Context, k *run, journal []envelope.Event) {
	for i, x := range k.cluster.Nodes {
		c, err := k.cluster.Copy(ctx, i)
		if err != nil {
			r.say(judge.Violation{Kind: judge.Broken, Text: fmt.Sprintf("the copy of %s cannot be read: %v", x.Name, err)})
			continue
		}
		var events []envelope.Event
		for _, x := range c {
			events = append(events, x.Event)
		}
		for _, text := range judge.Differences(journal, events) {
			r.say(judge.Violation{Kind: judge.Broken, Text: x.Name + ": " + text})
		}
		r.Copies = append(r.Copies, len(c))
		if r.stored == nil {
			for _, x := range c {
				r.stored = append(r.stored, x.Stored)
			}
		}
	}
}

// unknown says that nobody knows what became of something.
func unknown(b envelope.Body) bool {
	switch b := b.(type) {
	case callv1.Completed:
		return b.Outcome == callv1.Unknown
	case deliveryv1.Unknown:
		return true
	}
	return false
}

const clockTime = "15:04:05.000"

func joined(list []string) string { return strings.Join(list, "; ") }
