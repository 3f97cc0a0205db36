package turn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/approval"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
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

// measureParked measures a daemon in which approvals wait, beside one in which none does.
func measureParked(ctx context.Context, b *bench.Bench, o parkedOptions) (r parkedReport, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	r = parkedReport{Approvals: o.approvals, Approved: o.approve}
	b.P.Note("a daemon without parked approvals")
	if _, r.Without, err = waiting(ctx, b, "parked-none", m, parkedOptions{calm: o.calm}, &parkedReport{}); err != nil {
		return r, err
	}
	b.P.Note("a daemon with %d parked approvals", o.approvals)
	if r.Before, r.With, err = waiting(ctx, b, "parked", m, o, &r); err != nil {
		return r, err
	}
	r.finish()
	return r, nil
}

// waiting starts a daemon, lets one call be parked and approved so that everything has run once, parks the others, and
// looks at the daemon when all is calm, before and after. It ends the daemon.
func waiting(ctx context.Context, b *bench.Bench, name string, m *fakemodel.Server, o parkedOptions, r *parkedReport) (before, after footprint, err error) {
	h, err := b.HomeOf(name, daemon.Config{Sync: "interval", ModelURL: m.URL(), Ask: approval.AskPaths})
	if err != nil {
		return before, after, err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return before, after, err
	}
	defer d.Kill()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
		} else if !b.Keep {
			_ = os.RemoveAll(h.Dir)
		}
	}()
	if err := park(ctx, d, name+"w", parkedOptions{approvals: 1, approve: 1}, &parkedReport{}); err != nil {
		return before, after, err
	}
	m.HangUp()
	pace.Wait(ctx, o.calm)
	if before, err = footprintOf(ctx, d); err != nil || o.approvals == 0 {
		if err == nil {
			before.Goroutines, err = d.Quit(h, bench.StopTime)
		}
		return before, before, err
	}
	if err := park(ctx, d, name, o, r); err != nil {
		return before, after, err
	}
	m.HangUp()
	pace.Wait(ctx, o.calm)
	if after, err = footprintOf(ctx, d); err == nil {
		after.Goroutines, err = d.Quit(h, bench.StopTime)
	}
	return before, after, err
}

// park lets calls be parked, looks at the list of them, and approves the first ones. No connection is left open.
func park(ctx context.Context, r *bench.Running, run string, o parkedOptions, out *parkedReport) error {
	run = strings.ReplaceAll(run, "-", "")
	cl := r.Client(parkedParallel + 1)
	defer cl.Close()
	all := make([]approval.Parked, o.approvals)
	began := time.Now()
	err := pace.Crews(ctx, o.approvals, min(parkedParallel, o.approvals), func(ctx context.Context, i int) (err error) {
		s := approval.Parked{Path: approval.Path(i, o.approve), Marker: marker.New(run, i, 0)}
		s.Accepted, err = approval.Park(ctx, cl, client.Message{
			Session: fmt.Sprintf("%s-%d", run, i), Key: s.Marker, Text: s.Marker + " " + approval.Text(s.Path),
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
		l, err := approval.List(ctx, conn, "")
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
func (r *parkedReport) approve(ctx context.Context, d *bench.Running, conn *bus.Conn, cl *client.Client, some []approval.Parked) error {
	var took []time.Duration
	for _, s := range some {
		id, err := approval.One(ctx, conn, s.Accepted.Session)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := approval.Decide(ctx, conn, approval.Request{Approval: id, Decision: approval.AllowOnce}); err != nil {
			return fmt.Errorf("approve %s: %w", id, err)
		}
		if err := approval.Finished(ctx, cl, s.Accepted, s.Marker); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if content, err := os.ReadFile(filepath.Join(d.Workspace(), s.Path)); err == nil && string(content) == approval.Content {
			r.Ran++
		}
	}
	r.Answered = stat.SpreadOf(took)
	return nil
}
