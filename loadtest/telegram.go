package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/faketelegram"
)

// telegramOptions of one run.
type telegramOptions struct {
	chance

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

func telegramCommand(ctx context.Context, args []string, p printer) error {
	fs := p.flags("telegram")
	f := addBenchFlags(fs)
	var o telegramOptions
	rate := fs.Bool("rate", false, "measure instead how fast waiting updates come in; --updates is then 5000")
	rounds := fs.Int("rounds", 3, "of --rate")
	fs.IntVar(&o.chats, "chats", 200, "in which people write")
	fs.IntVar(&o.groups, "groups", 10, "of them are groups")
	fs.IntVar(&o.updates, "updates", 2000, "that people cause")
	fs.IntVar(&o.kills, "kills", 10, "how often the daemon is killed")
	fs.StringVar(&o.sync, "sync", "always", "bus.sync; with --rate interval")
	o.chance.add(fs, "instants, texts and delays", "0-300ms", "; with --streaming "+talkingModel)
	fs.BoolVar(&o.streaming, "streaming", false, "answers are shown while the model speaks")
	fs.BoolVar(&o.trouble, "trouble", true, "Telegram fails, too")
	fs.DurationVar(&o.drain, "drain", 3*time.Minute, "for everything to come to rest after the last kill, beyond what the limits of Telegram need")
	fs.DurationVar(&o.settle, "settle", 12*time.Second, "shortest time between the last start and the end: deliveries to the dead come again within it")
	if err := parse(fs, args); err != nil {
		return err
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.streaming && !given["delay"] {
		o.text = talkingModel
	}
	if o.chats < 1 || o.updates < 1 || o.kills < 0 || *rounds < 1 || o.groups < 0 || o.groups > o.chats {
		return asUsage(errors.New("chats, updates and rounds are at least 1, and groups at most chats"))
	}
	if err := o.draw(); err != nil {
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
	limit := 2*o.span() + time.Duration(o.kills)*readyTime + o.drain + 5*time.Minute
	r, err := try(ctx, f, o.chance, limit, p, func(ctx context.Context, b *bench) (telegramReport, error) { return b.telegramRun(ctx, o) })
	if err != nil {
		return err
	}
	return r.missing()
}

// span is how long people write.
func (o telegramOptions) span() time.Duration {
	return max(shortestRun, time.Duration(o.updates)*time.Second/answersPerSecond)
}

// telegramRun has the parts of one run.
type telegramRun struct {
	*bench
	o      telegramOptions
	rnd    *rand.Rand
	model  *fakemodel.Server
	fake   *faketelegram.Server
	home   daemon.Home
	people *people
	life   []lifetime
	faults map[string]int
}

func (b *bench) telegramRun(ctx context.Context, o telegramOptions) (r telegramReport, err error) {
	t := &telegramRun{bench: b, o: o, rnd: rand.New(rand.NewPCG(o.seed, 1))}
	if t.model, err = fakemodel.Start("127.0.0.1:0", fakemodel.Options{Delay: o.delay, Seed: o.seed}); err != nil {
		return r, err
	}
	defer t.model.Close()
	if t.fake, err = faketelegram.Start(faketelegram.Options{}); err != nil {
		return r, err
	}
	defer t.fake.Close()
	if t.people, err = newPeople(t.fake, runName(o.seed), o.seed, o.chats, o.groups); err != nil {
		return r, err
	}
	if t.home, err = b.homeOf("telegram", t.config()); err != nil {
		return r, err
	}
	d, err := b.start(ctx, t.home)
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
	stopped := d.Stop(stopTime)
	r, err = t.judge(ctx, rest, stopped)
	r.Took = time.Since(began)
	return r, err
}

func (t *telegramRun) config() daemon.Config {
	return daemon.Config{Sync: t.o.sync, ModelURL: t.model.URL(), Telegram: &daemon.Telegram{
		Token: faketelegram.DefaultToken, APIRoot: t.fake.URL(), Streaming: t.o.streaming, Groups: t.people.groups(),
	}}
}

// troubled has people write while the daemon is killed and Telegram fails; it returns the last daemon, ready and alive, when all
// of that is over.
func (t *telegramRun) troubled(ctx context.Context, d *running) (*running, error) {
	writing, cancel := context.WithCancel(ctx)
	defer cancel()
	t.people.write(writing, t.o.updates, t.o.span())
	failing, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	if t.o.trouble {
		rnd := rand.New(rand.NewPCG(t.o.seed, 1<<32))
		work.Go(func() { t.faults = trouble(failing, t.fake, t.people.rooms, rnd) })
	}
	d, err := t.killing(ctx, d)
	if err != nil {
		cancel()
	}
	t.people.wait()
	stop()
	work.Wait()
	return d, err
}

// killing kills and restarts, spread over the time in which people write.
func (t *telegramRun) killing(ctx context.Context, d *running) (*running, error) {
	p := d.Process
	for i := range t.o.kills {
		mean := float64(t.o.span()) / float64(t.o.kills)
		if !wait(ctx, max(shortestLife, time.Duration(2*t.rnd.Float64()*mean))) {
			p.Kill()
			return nil, context.Cause(ctx)
		}
		l := t.kill(p)
		if t.rnd.Float64() < earlyKills {
			var err error
			if p, err = daemon.Start(t.binary, t.home); err != nil {
				return nil, err
			}
			l.Started = p.Started
			t.life = append(t.life, l)
			wait(ctx, time.Duration(t.rnd.Float64()*float64(2*earlyTime)))
			l = t.kill(p)
			l.Early = true
		}
		next, err := t.start(ctx, t.home)
		if err != nil {
			return nil, fmt.Errorf("after kill %d: %w", i+1, err)
		}
		d, p = next, next.Process
		l.Started, l.Ready = d.Started, d.Started.Add(d.ReadyAfter)
		t.life = append(t.life, l)
		t.p.note("kill %d of %d, %d updates, %d messages of the bot", i+1, t.o.kills, t.people.done.Load(), t.fake.Report().Messages)
	}
	return d, nil
}

func (t *telegramRun) kill(p *daemon.Process) lifetime {
	l := lifetime{Open: t.model.OpenNow().All}
	l.Killed = time.Now()
	p.Kill()
	return l
}
