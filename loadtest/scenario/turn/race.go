package turn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/approval"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// raceOptions of one run.
type raceOptions struct {
	deciders, conns int
}

const (
	decider  = "local" // who asks on the bus with a key of the home
	racePath = "SOUL.md"
	busyMax  = 20 * time.Millisecond // until who was told that there are too many asks again
	raceTime = 2 * time.Minute
)

// measureRace lets many decide one approval at once, over connections of their own.
func measureRace(ctx context.Context, b *bench.Bench, o raceOptions) (r raceReport, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	h, err := b.Home("race", "always", m.URL())
	if err != nil {
		return r, err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return r, err
	}
	defer d.Kill()
	b.P.Note("a race of %d answers over %d connections", o.deciders, min(o.conns, o.deciders))
	if r, err = runRace(ctx, d, o); err == nil {
		err = d.Stop(bench.StopTime)
	}
	if err != nil {
		return r, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	journal, err := store.ReadJournal(ctx, h.Data())
	if err != nil {
		return r, err
	}
	r.judge(journal, h)
	if !b.Keep {
		_ = os.RemoveAll(h.Dir)
	}
	return r, nil
}

func runRace(ctx context.Context, r *bench.Running, o raceOptions) (out raceReport, err error) {
	cl := r.Client(2)
	defer cl.Close()
	const m = "mk-race-0-0"
	a, err := approval.Park(ctx, cl, client.Message{Session: "race", Key: m, Text: m + " " + approval.Text(racePath)})
	if err != nil {
		return out, err
	}
	conns := make([]*bus.Conn, min(o.conns, o.deciders))
	for i := range conns {
		if conns[i], err = r.Dial(ctx, "cli"); err != nil {
			return out, err
		}
		defer func() { _ = conns[i].Close(context.WithoutCancel(ctx)) }()
	}
	id, err := approval.One(ctx, conns[0], a.Session)
	if err != nil {
		return out, err
	}
	out = contest(ctx, o.deciders, func(ctx context.Context, i int, d callv1.Decision) (approval.Answer, error) {
		return approval.Decide(ctx, conns[i%len(conns)], approval.Request{Approval: id, Decision: d})
	})
	out.Approval, out.Connections = id, len(conns)
	return out, approval.Finished(ctx, cl, a, m)
}

// contest lets n decide at once, every other one yes, and counts what they are told. Who is told that there are too many
// asks again.
func contest(ctx context.Context, n int, ask func(ctx context.Context, i int, d callv1.Decision) (approval.Answer, error)) raceReport {
	ctx, cancel := context.WithTimeoutCause(ctx, raceTime, errors.New("the race had its time"))
	defer cancel()
	r := raceReport{Deciders: n, Unclear: map[string]int{}}
	var mu sync.Mutex
	var took []time.Duration
	begin := make(chan struct{})
	var wg sync.WaitGroup
	first := rand.IntN(2) // the last goroutine tends to be the first that runs
	for i := range n {
		d := callv1.Deny
		if i%2 == first {
			d = approval.AllowOnce
		}
		wg.Go(func() {
			<-begin
			began, again := time.Now(), 0
			answer, err := ask(ctx, i, d)
			for ; fault.KindOf(err) == fault.Busy && pace.Wait(ctx, rand.N(busyMax)); again++ {
				answer, err = ask(ctx, i, d)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(began))
			r.Again += again
			r.count(d, answer, err)
		})
	}
	began := time.Now()
	close(begin)
	wg.Wait()
	r.Took, r.Each = time.Since(began), stat.SpreadOf(took)
	return r
}

// count says what one decider was told.
func (r *raceReport) count(d callv1.Decision, answer approval.Answer, err error) {
	text := answer.Text
	switch {
	case err == nil && !answer.Already:
		r.Won++
		r.Winner = d
		return
	case err == nil:
		r.Same++
	case fault.KindOf(err) == fault.Conflict:
		r.Lost++
		text = err.Error()
	default:
		r.Unclear[string(fault.KindOf(err))]++
		return
	}
	if strings.Contains(text, " by "+decider+" ") {
		r.Told++
	}
}

// judge looks at the journal and at the file that was asked about.
func (r *raceReport) judge(journal []store.Record, h daemon.Home) {
	for _, e := range journal {
		switch b := e.Body.(type) {
		case approvalv1.Decided:
			r.Decided++
			r.Stored = b.Answer.Decision
		case callv1.Started:
			r.Claimed++
		}
	}
	content, err := os.ReadFile(filepath.Join(h.Workspace(), racePath))
	r.Ran = err == nil && string(content) == approval.Content
	r.finish()
}
