package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Of a journal that is made.
const (
	madeTurns    = 20  // of a session
	madeParallel = 64  // sessions that talk at the same time
	madeMost     = 256 // sessions of a pass
	madePasses   = 4   // at the least; every fourth is of turns with a tool call
	madeEvents   = 5   // of a plain turn, about: for the size of a pass
	longEvents   = 1000
	longName     = "long"
	longPatience = 50 // passes until the long session is long enough
	restTime     = 500 * time.Millisecond
)

// makeJournal makes the journal that is measured, or takes a copy of one, and returns its home, with no daemon on it.
func makeJournal(ctx context.Context, b *bench.Bench, f flags, modelURL string) (h daemon.Home, made time.Duration, err error) {
	if h, err = b.Home("journal", "interval", modelURL); err != nil {
		return h, 0, err
	}
	if f.home != "" {
		b.P.Note("copying the journal of %s …", f.home)
		return h, 0, h.TakeData(f.home)
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return h, 0, err
	}
	defer d.Kill()
	began := time.Now()
	if err := fill(ctx, d, f.events, b.P); err != nil {
		return h, 0, fmt.Errorf("make a journal: %w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	made = time.Since(began)
	if err := d.Stop(bench.StopTime); err != nil {
		return h, 0, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	return h, made, nil
}

// fill has people talk until the daemon's journal has so many events. One conversation goes on all the time: its events lie
// scattered over the journal.
func fill(ctx context.Context, r *bench.Running, events int, p console.Printer) error {
	conn, err := r.Dial(ctx, "cli")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	cl := r.Client(madeParallel + 1)
	defer cl.Close()
	for pass := 0; ; pass++ {
		n, err := stored(ctx, conn)
		if err != nil {
			return err
		}
		p.Note("%d of %d events", n, events)
		if n >= events {
			return lengthen(ctx, cl, conn)
		}
		if err := talk(ctx, cl, passOf(pass, n, events)); err != nil {
			return err
		}
	}
}

// passOf is what is said when the journal has n of the events: by many sessions, and by the long one.
func passOf(pass, n, events int) []exchange.Filling {
	const each = madeTurns * madeEvents // events of a session
	most := max(1, min(madeMost, events/(each*madePasses)))
	sessions := min(most, (events-n+each-1)/each)
	text := exchange.HistoryText(120)
	if pass%4 == 3 {
		text = exchange.NowText
	}
	passes := max(1, events/(most*each))
	return []exchange.Filling{
		{Run: fmt.Sprintf("p%d", pass), Sessions: exchange.Names(fmt.Sprintf("made-%d", pass), sessions), Each: madeTurns, Parallel: madeParallel, Text: text},
		{Run: fmt.Sprintf("l%d", pass), Sessions: []string{longName}, Each: longEvents/madeEvents/passes + 1, Parallel: 1, Text: text},
	}
}

// talk has all of them talk at the same time.
func talk(ctx context.Context, cl *client.Client, all []exchange.Filling) error {
	return pace.Crews(ctx, len(all), len(all), func(ctx context.Context, i int) error { return all[i].Fill(ctx, cl) })
}

// lengthen has the long session talk until it is long enough, and waits until nothing is written any more.
func lengthen(ctx context.Context, cl *client.Client, conn *bus.Conn) error {
	id, err := session.New("main", "http", "default", longName)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		past, err := conn.History(ctx, id, 0)
		if err != nil {
			return err
		}
		if len(past) >= longEvents {
			break
		}
		if i == longPatience {
			return fmt.Errorf("%s has %d events only", id, len(past))
		}
		f := exchange.Filling{
			Run: fmt.Sprintf("m%d", i), Sessions: []string{longName}, Each: (longEvents-len(past))/madeEvents + 1, Parallel: 1, Text: exchange.HistoryText(120),
		}
		if err := f.Fill(ctx, cl); err != nil {
			return err
		}
	}
	for before := -1; ; {
		n, err := stored(ctx, conn)
		if err != nil || n == before {
			return err
		}
		before = n
		if !pace.Wait(ctx, restTime) {
			return context.Cause(ctx)
		}
	}
}

// stored is how many events the journal of a running daemon has.
func stored(ctx context.Context, conn *bus.Conn) (int, error) {
	u, err := conn.Journal().Usage(ctx)
	return int(u.Messages), err
}

// longest is the session with the most events in the journal of a stopped daemon.
func longest(ctx context.Context, data string) (id session.ID, events int, err error) {
	st, err := store.Open(data)
	if err != nil {
		return "", 0, err
	}
	defer st.Close()
	all, err := st.Sessions(ctx)
	for s, n := range all {
		if n > events || n == events && s < id {
			id, events = s, n
		}
	}
	return id, events, err
}
