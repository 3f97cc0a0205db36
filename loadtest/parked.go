package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/marker"
	"github.com/jetclaw/jetclaw/loadtest/stat"
)

// parkedOptions of one run.
type parkedOptions struct {
	approvals int
	approve   int           // of them, at the end
	calm      time.Duration // until the daemon counts itself as idle and gives memory back
}

const (
	parkedParallel = 64 // sessions that are parked at the same time
	parkedLists    = 5
)

// parked measures a daemon in which approvals wait, beside one in which none does.
func (b *bench) parked(ctx context.Context, o parkedOptions) (r parkedReport, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	r = parkedReport{Approvals: o.approvals, Approved: o.approve}
	b.p.note("a daemon without parked approvals")
	if _, r.Without, err = b.waiting(ctx, "parked-none", m, parkedOptions{calm: o.calm}, &parkedReport{}); err != nil {
		return r, err
	}
	b.p.note("a daemon with %d parked approvals", o.approvals)
	if r.Before, r.With, err = b.waiting(ctx, "parked", m, o, &r); err != nil {
		return r, err
	}
	r.finish()
	return r, nil
}

// waiting starts a daemon, lets one call be parked and approved so that everything has run once, parks the others, and
// looks at the daemon when all is calm, before and after. It ends the daemon.
func (b *bench) waiting(ctx context.Context, name string, m *fakemodel.Server, o parkedOptions, r *parkedReport) (before, after footprint, err error) {
	h, err := b.homeOf(name, daemon.Config{Sync: "interval", ModelURL: m.URL(), Ask: askPaths})
	if err != nil {
		return before, after, err
	}
	d, err := b.start(ctx, h)
	if err != nil {
		return before, after, err
	}
	defer d.Kill()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, logTail(h.LogFile()))
		} else if !b.keep {
			_ = os.RemoveAll(h.Dir)
		}
	}()
	if err := d.park(ctx, name+"w", parkedOptions{approvals: 1, approve: 1}, &parkedReport{}); err != nil {
		return before, after, err
	}
	m.HangUp()
	wait(ctx, o.calm)
	if before, err = d.footprint(ctx); err != nil || o.approvals == 0 {
		if err == nil {
			before.Goroutines, err = d.Quit(h, stopTime)
		}
		return before, before, err
	}
	if err := d.park(ctx, name, o, r); err != nil {
		return before, after, err
	}
	m.HangUp()
	wait(ctx, o.calm)
	if after, err = d.footprint(ctx); err == nil {
		after.Goroutines, err = d.Quit(h, stopTime)
	}
	return before, after, err
}

// park lets calls be parked, looks at the list of them, and approves the first ones. No connection is left open.
func (r *running) park(ctx context.Context, run string, o parkedOptions, out *parkedReport) error {
	run = strings.ReplaceAll(run, "-", "")
	cl := r.client(parkedParallel + 1)
	defer cl.Close()
	all := make([]parkedSession, o.approvals)
	began := time.Now()
	err := crews(ctx, o.approvals, min(parkedParallel, o.approvals), func(ctx context.Context, i int) (err error) {
		s := parkedSession{path: parkedPath(i, o.approve), marker: marker.New(run, i, 0)}
		s.accepted, err = parkOne(ctx, cl, client.Message{
			Session: fmt.Sprintf("%s-%d", run, i), Key: s.marker, Text: s.marker + " " + parkedText(s.path),
		})
		all[i] = s
		return err
	})
	if err != nil {
		return err
	}
	out.Parking = time.Since(began)
	conn, err := r.Dial(ctx, "cli")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := out.list(ctx, conn); err != nil {
		return err
	}
	return out.approve(ctx, r, conn, cl, all[:o.approve])
}

// list takes the time of the list of what is open.
func (r *parkedReport) list(ctx context.Context, conn *bus.Conn) error {
	var took []time.Duration
	for range parkedLists {
		began := time.Now()
		l, err := listApprovals(ctx, conn, "")
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		r.Open, r.Listed = len(l.Approvals)+l.More, len(l.Approvals)
	}
	r.List = stat.SpreadOf(took)
	return nil
}

// approve says yes to some, one after the other, and looks whether they have run.
func (r *parkedReport) approve(ctx context.Context, d *running, conn *bus.Conn, cl *client.Client, some []parkedSession) error {
	var took []time.Duration
	for _, s := range some {
		l, err := listApprovals(ctx, conn, s.accepted.Session)
		if err != nil {
			return err
		}
		if len(l.Approvals) != 1 {
			return fmt.Errorf("%s has %d open approvals, want 1", s.accepted.Session, len(l.Approvals))
		}
		began := time.Now()
		if _, err := decide(ctx, conn, decideRequest{Approval: l.Approvals[0].Approval, Decision: allowOnce}); err != nil {
			return fmt.Errorf("approve %s: %w", l.Approvals[0].Approval, err)
		}
		if err := finished(ctx, cl, s.accepted, s.marker); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if content, err := os.ReadFile(filepath.Join(d.Workspace(), s.path)); err == nil && string(content) == approvedContent {
			r.Ran++
		}
	}
	r.Answered = stat.SpreadOf(took)
	return nil
}
