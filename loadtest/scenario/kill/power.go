package kill

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/fault/disk"
	"github.com/jetclaw/jetclaw/loadtest/judge"
)

// powerOptions are those of the disk.
type powerOptions struct {
	bin   string // of powerfs
	names string
	full  int // how often the disk is filled; 0: its power is cut
}

// PowerCommand kills the daemon and cuts the power of its disk in the same instant, again and again, and judges what is left.
func PowerCommand(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("power")
	f := bench.AddFlags(fs)
	o := options{power: &powerOptions{}}
	fs.IntVar(&o.kills, "cuts", 30, "how often the power is cut")
	fs.StringVar(&o.power.names, "names", disk.Journal, "which names of files survive: journal (any fsync commits those before it, as ext4\n"+
		"and XFS do) or strict (their directory has to be synced)")
	fs.IntVar(&o.power.full, "full", 0, "instead of cuts: how often the disk is filled and freed under a daemon that goes on")
	finish := o.flags(fs)
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	if o.power.names != disk.Journal && o.power.names != disk.Strict {
		return console.Usage(fmt.Errorf("names %q: want %s or %s", o.power.names, disk.Journal, disk.Strict))
	}
	return tryKill(ctx, f, o, p, func(ctx context.Context, b *bench.Bench) (err error) {
		o.power.bin, err = disk.Build(ctx, b.Dir)
		return err
	})
}

// mount gives the home of a name a disk of its own.
func mount(b *bench.Bench, o *powerOptions, home string) (*disk.Disk, error) {
	return disk.Mount(o.bin, filepath.Join(b.Dir, "disk-of-"+home), filepath.Join(b.Dir, home), o.names)
}

// cut cuts the power and gives it back. The daemon is dead: it says nothing of what it believes to have written.
func (k *run) cut(l *trial.Life) error {
	if k.disk == nil {
		return nil
	}
	lost, err := k.disk.Cut(k.rnd.Uint64())
	if err != nil {
		return err
	}
	l.Lost = &lost
	return k.disk.On()
}

// powerReport is what the cuts have done.
type powerReport struct {
	Names   string                `json:"names"`
	Cuts    int                   `json:"cuts"`
	Lost    disk.Loss             `json:"lost"`     // by the disk, all cuts together
	MayLose bool                  `json:"may_lose"` // bus.sync is interval: what is told of is lost, and no promise broken
	Gone    int                   `json:"gone"`     // accepted messages that the journal does not have
	Told    map[judge.Kind]int    `json:"told"`     // what people outside see of it, by the promise that always would keep
	Sample  map[judge.Kind]string `json:"sample"`
}

// powered puts what the cuts have done together. Where the last seconds may be lost, what people outside were told is compared
// with nothing: the journal that is left has to be sound in itself, and everything in it has to be done.
func (k *run) powered(v *judge.Verdict, ev judge.Evidence) *powerReport {
	r := &powerReport{Names: k.o.power.names, MayLose: k.o.sync != "always", Told: map[judge.Kind]int{}, Sample: map[judge.Kind]string{}}
	for _, l := range k.life {
		if l.Lost == nil {
			continue
		}
		r.Cuts++
		r.Lost.Files += l.Lost.Files
		r.Lost.Writes += l.Lost.Writes
		r.Lost.Kept += l.Lost.Kept
		r.Lost.Torn += l.Lost.Torn
		r.Lost.Bytes += l.Lost.Bytes
		r.Lost.Names += l.Lost.Names
		r.Lost.Renamed += l.Lost.Renamed
	}
	stored := map[string]bool{}
	for _, e := range ev.Journal {
		stored[e.ID] = true
	}
	for _, m := range ev.Messages {
		if !stored[m.ID] {
			r.Gone++
		}
	}
	if !r.MayLose {
		return r
	}
	for _, x := range append(v.Violations, k.crowd.Found...) {
		r.Told[x.Kind]++
		r.Sample[x.Kind] = x.Text
	}
	counts := v.Counts
	*v = judge.Judge(judge.Evidence{Journal: ev.Journal, Queue: ev.Queue, MayFail: ev.MayFail, Again: ev.Again})
	v.Counts = counts
	return r
}

func (r *powerReport) say(p console.Printer) {
	p.Say("each was a power cut: the disk has lost %d writes of %d files (%d KB) and %d names; %d writes, %d torn ones and %d names were not synced "+
		"and left all the same (names: %s)", r.Lost.Writes, r.Lost.Files, r.Lost.Bytes>>10, r.Lost.Names, r.Lost.Kept, r.Lost.Torn, r.Lost.Renamed, r.Names)
	p.Say("accepted messages that are gone: %d", r.Gone)
	for _, kind := range judge.Kinds() {
		if n := r.Told[kind]; n > 0 {
			p.Say("  seen from outside, %s: %d (as: %.160s)", kind, n, r.Sample[kind])
		}
	}
}
