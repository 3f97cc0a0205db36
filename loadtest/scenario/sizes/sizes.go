// Package sizes measures what sessions cost that lie on the disk, beside a bare server that opens the same store, and puts on paper what many
// more would cost.
package sizes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// sizesFlags are those of the command sizes.
type sizesFlags struct {
	bench    bench.Flags
	sizes    []int
	messages int
	deep     int
	calm     time.Duration
	strict   bool
}

// deepMessages are enough for a snapshot of every machine.
const deepMessages = 20

// sized is what jetclaw takes when it has so many sessions, at rest, beside a bare server with the same store.
type sized struct {
	Sessions  int           `json:"sessions"`
	Turns     int           `json:"turns"`
	Events    uint64        `json:"events"`
	Subjects  uint64        `json:"subjects"`
	Streams   int           `json:"streams"`
	Consumers int           `json:"consumers"`
	Journal   int64         `json:"journal_disk_bytes"`
	Snapshots int64         `json:"snapshots_disk_bytes"`
	Snapshot  uint64        `json:"snapshots"` // entries
	Index     int64         `json:"index_disk_bytes"`
	Disk      int64         `json:"disk_bytes"` // of the home
	Ready     time.Duration `json:"ready_ns"`
	RSS       int64         `json:"rss_bytes"`
	Floor     floor.Opened  `json:"floor"`
}

func parseSizes(args []string, p console.Printer) (sizesFlags, error) {
	fs := p.Flags("sizes")
	f := sizesFlags{bench: bench.AddFlags(fs)}
	sizes := fs.String("sizes", "1000,10000,50000", "numbers of sessions, each in a home of its own")
	fs.IntVar(&f.messages, "messages", 4, "of each session, and as many answers; a turn is about five events")
	fs.IntVar(&f.deep, "deep", 500, "sessions of one more home, with 20 messages each: a session has a snapshot only when it is as long as that. 0: none")
	fs.DurationVar(&f.calm, "calm", bench.CalmTime, "until a daemon counts itself as idle: then its memory is read")
	bench.AddStrict(fs, &f.strict)
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	for v := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return f, console.Usage(fmt.Errorf("sizes %q: want numbers of sessions, as 1000,10000", *sizes))
		}
		f.sizes = append(f.sizes, n)
	}
	if f.messages < 1 || f.calm < 0 || f.deep < 0 {
		return f, console.Usage(errors.New("messages are at least 1, calm and deep are not negative"))
	}
	return f, nil
}

// Command measures what sessions cost that lie on the disk.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseSizes(args, p)
	if err != nil {
		return err
	}
	return bench.Measured(ctx, f.bench, f.strict, p, func(ctx context.Context, b *bench.Bench) (report, error) {
		r := report{Messages: f.messages}
		for _, n := range f.sizes {
			s, err := measure(ctx, b, n, f.messages, f.calm)
			if err != nil {
				return r, fmt.Errorf("%d sessions: %w", n, err)
			}
			r.Sizes = append(r.Sizes, s)
		}
		if f.deep > 0 {
			s, err := measure(ctx, b, f.deep, deepMessages, 0)
			if err != nil {
				return r, fmt.Errorf("%d long sessions: %w", f.deep, err)
			}
			r.Deep = &s
		}
		r.finish()
		return r, nil
	})
}

// measure fills a home and looks at it: while a daemon runs that has just begun, and when none does.
func measure(ctx context.Context, b *bench.Bench, n, messages int, calm time.Duration) (s sized, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return s, err
	}
	defer m.Close()
	h, err := b.Home(fmt.Sprintf("size-%d-%d", n, messages), "interval", m.URL())
	if err != nil {
		return s, err
	}
	if err := filled(ctx, b, h, n, messages); err != nil {
		return s, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	s.Sessions, s.Turns = n, n*messages
	d, err := b.Start(ctx, h)
	if err != nil {
		return s, err
	}
	defer d.Kill()
	s.Ready = d.ReadyAfter
	pace.Wait(ctx, calm)
	if s.RSS, err = d.RSS(); err != nil {
		return s, err
	}
	if err := s.count(ctx, h); err != nil {
		return s, err
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return s, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	if err := s.weigh(h); err != nil {
		return s, err
	}
	if s.Floor, err = floor.Open(ctx, floor.Opening{Data: h.Data(), Calm: min(calm, bench.IdleTime)}); err == nil && !b.Keep {
		_ = os.RemoveAll(h.Dir)
	}
	return s, err
}

// filled has everybody talk, and stops the daemon.
func filled(ctx context.Context, b *bench.Bench, h daemon.Home, sessions, messages int) error {
	d, err := b.Start(ctx, h)
	if err != nil {
		return err
	}
	defer d.Kill()
	cl := d.Client(exchange.FillParallel + 1)
	defer cl.Close()
	for k := range messages { // all sessions one after the other, so that each lies scattered over the journal
		b.P.Note("%d sessions: message %d of %d of each", sessions, k+1, messages)
		fill := exchange.Filling{
			Run: fmt.Sprintf("z%dk%dof%d", sessions, k, messages), Sessions: exchange.Names("sized", sessions), Each: 1,
			Parallel: min(exchange.FillParallel, sessions), Text: exchange.HistoryText(120),
		}
		if err := fill.Fill(ctx, cl); err != nil {
			return err
		}
	}
	return d.Stop(bench.StopTime)
}

// count asks the running daemon's bus.
func (s *sized) count(ctx context.Context, h daemon.Home) error {
	conn, err := h.Dial(ctx, bus.Admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	l := conn.JetStream().ListStreams(ctx)
	for i := range l.Info() {
		s.Streams++
		s.Consumers += i.State.Consumers
		s.Subjects += i.State.NumSubjects
		switch i.Config.Name {
		case subject.Journal:
			s.Events = i.State.Msgs
		case "KV_" + subject.Snap:
			s.Snapshot = i.State.Msgs
		}
	}
	return l.Err()
}

// weigh looks at the files of a stopped daemon.
func (s *sized) weigh(h daemon.Home) (err error) {
	if s.Disk, err = daemon.Occupied(h.Dir); err != nil {
		return err
	}
	if s.Index, err = daemon.Occupied(filepath.Join(h.Dir, "index")); err != nil {
		return err
	}
	for name, into := range map[string]*int64{subject.Journal: &s.Journal, "KV_" + subject.Snap: &s.Snapshots} {
		all, err := filepath.Glob(filepath.Join(h.Data(), "*", "*", "streams", name))
		if err == nil && len(all) == 0 {
			all, err = filepath.Glob(filepath.Join(h.Data(), "*", "*", "*", "streams", name))
		}
		if err != nil || len(all) != 1 {
			return errors.Join(fmt.Errorf("stream %s below %s: %d found", name, h.Data(), len(all)), err)
		}
		if *into, err = daemon.Occupied(all[0]); err != nil {
			return err
		}
	}
	return nil
}
