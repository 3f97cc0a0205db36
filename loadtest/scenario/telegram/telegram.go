// Package telegram has many people write in the chats of a fake Telegram that fails, while the daemon is killed: is each message answered
// once, in order, whole, within the limits? Or it measures how fast waiting updates come in.
package telegram

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
)

// options of one run.
type options struct {
	trial.Chance

	chats, groups int
	updates       int
	kills         int
	sync          string
	streaming     bool
	trouble       bool
	drain         time.Duration
	settle        time.Duration
}

const (
	answersPerSecond = 25               // Telegram allows 30 over all
	shortestRun      = 8 * time.Second  // in which everything is written
	earlyKills       = 0.2              // of the kills come while the daemon starts
	shortestLife     = time.Second / 10 // between two kills, from ready
	talkingModel     = "1500ms-4s"      // a model that speaks for long enough that a draft is shown
)

// Command kills the daemon again and again while people write, and judges; or it measures how fast waiting updates come in.
func Command(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("telegram")
	f := bench.AddFlags(fs)
	var o options
	rate := fs.Bool("rate", false, "measure instead how fast waiting updates come in; --updates is then 5000")
	rounds := fs.Int("rounds", 3, "of --rate")
	fs.IntVar(&o.chats, "chats", 200, "in which people write")
	fs.IntVar(&o.groups, "groups", 10, "of them are groups")
	fs.IntVar(&o.updates, "updates", 2000, "that people cause")
	fs.IntVar(&o.kills, "kills", 10, "how often the daemon is killed")
	fs.StringVar(&o.sync, "sync", "always", "bus.sync; with --rate interval")
	o.Chance.Add(fs, "instants, texts and delays", "0-300ms", "; with --streaming "+talkingModel)
	fs.BoolVar(&o.streaming, "streaming", false, "answers are shown while the model speaks")
	fs.BoolVar(&o.trouble, "trouble", true, "Telegram fails, too")
	fs.DurationVar(&o.drain, "drain", 3*time.Minute, "for everything to come to rest after the last kill, beyond what the limits of Telegram need")
	fs.DurationVar(&o.settle, "settle", 12*time.Second, "shortest time between the last start and the end: deliveries to the dead come again within it")
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.streaming && !given["delay"] {
		o.Text = talkingModel
	}
	if o.chats < 1 || o.updates < 1 || o.kills < 0 || *rounds < 1 || o.groups < 0 || o.groups > o.chats {
		return console.Usage(errors.New("chats, updates and rounds are at least 1, and groups at most chats"))
	}
	if err := o.Draw(); err != nil {
		return err
	}
	if *rate {
		if !given["updates"] {
			o.updates = waitingUpdates
		}
		if !given["sync"] {
			o.sync = "interval"
		}
		return rateCommand(ctx, f, o, *rounds, p)
	}
	limit := 2*o.span() + time.Duration(o.kills)*bench.ReadyTime + o.drain + 5*time.Minute
	r, err := trial.Try(ctx, f, o.Chance, limit, p, func(ctx context.Context, b *bench.Bench) (report, error) { return attempt(ctx, b, o) })
	if err != nil {
		return err
	}
	return r.missing()
}

// span is how long people write.
func (o options) span() time.Duration {
	return max(shortestRun, time.Duration(o.updates)*time.Second/answersPerSecond)
}

// run has the parts of one run.
type run struct {
	*bench.Bench
	o      options
	rnd    *rand.Rand
	model  *fakemodel.Server
	fake   *faketelegram.Server
	home   daemon.Home
	people *people.People
	life   []trial.Life
	faults map[string]int
}

func attempt(ctx context.Context, b *bench.Bench, o options) (r report, err error) {
	t := &run{Bench: b, o: o, rnd: rand.New(rand.NewPCG(o.Seed, 1))}
	if t.model, err = fakemodel.Start("127.0.0.1:0", fakemodel.Options{Delay: o.Delay, Seed: o.Seed}); err != nil {
		return r, err
	}
	defer t.model.Close()
	if t.fake, err = faketelegram.Start(faketelegram.Options{}); err != nil {
		return r, err
	}
	defer t.fake.Close()
	if t.people, err = people.New(t.fake, people.Name(o.Seed), o.Seed, o.chats, o.groups); err != nil {
		return r, err
	}
	if t.home, err = b.HomeOf("telegram", t.config()); err != nil {
		return r, err
	}
	d, err := b.Start(ctx, t.home)
	if err != nil {
		return r, err
	}
	began := time.Now()
	d, err = t.troubled(ctx, d)
	if err != nil {
		return r, err
	}
	defer d.Kill()
	rest := t.rest(ctx, d)
	stopped := d.Stop(bench.StopTime)
	r, err = t.judge(ctx, rest, stopped)
	r.Took = time.Since(began)
	return r, err
}

func (t *run) config() daemon.Config {
	return daemon.Config{Sync: t.o.sync, ModelURL: t.model.URL(), Telegram: &daemon.Telegram{
		Token: faketelegram.DefaultToken, APIRoot: t.fake.URL(), Streaming: t.o.streaming, Groups: t.people.Groups(),
	}}
}

// troubled has people write while the daemon is killed and Telegram fails; it returns the last daemon, ready and alive, when all
// of that is over.
func (t *run) troubled(ctx context.Context, d *bench.Running) (*bench.Running, error) {
	writing, cancel := context.WithCancel(ctx)
	defer cancel()
	t.people.Write(writing, t.o.updates, t.o.span())
	failing, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	if t.o.trouble {
		rnd := rand.New(rand.NewPCG(t.o.Seed, 1<<32))
		work.Go(func() { t.faults = trouble(failing, t.fake, t.people.Rooms, rnd) })
	}
	d, err := t.killing(ctx, d)
	if err != nil {
		cancel()
	}
	t.people.Wait()
	stop()
	work.Wait()
	return d, err
}

// killing kills and restarts, spread over the time in which people write.
func (t *run) killing(ctx context.Context, d *bench.Running) (*bench.Running, error) {
	p := d.Process
	for i := range t.o.kills {
		mean := float64(t.o.span()) / float64(t.o.kills)
		if !pace.Wait(ctx, max(shortestLife, time.Duration(2*t.rnd.Float64()*mean))) {
			p.Kill()
			return nil, context.Cause(ctx)
		}
		l := t.kill(p)
		if t.rnd.Float64() < earlyKills {
			var err error
			if p, err = daemon.Start(t.Binary, t.home); err != nil {
				return nil, err
			}
			l.Started = p.Started
			t.life = append(t.life, l)
			pace.Wait(ctx, time.Duration(t.rnd.Float64()*float64(2*trial.EarlyTime)))
			l = t.kill(p)
			l.Early = true
		}
		next, err := t.Start(ctx, t.home)
		if err != nil {
			return nil, fmt.Errorf("after kill %d: %w", i+1, err)
		}
		d, p = next, next.Process
		l.Started, l.Ready = d.Started, d.Started.Add(d.ReadyAfter)
		t.life = append(t.life, l)
		t.P.Note("kill %d of %d, %d updates, %d messages of the bot", i+1, t.o.kills, t.people.Done.Load(), t.fake.Report().Messages)
	}
	return d, nil
}

func (t *run) kill(p *daemon.Process) trial.Life {
	l := trial.Life{Open: t.model.OpenNow().All}
	l.Killed = time.Now()
	p.Kill()
	return l
}
