package retention

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Result is what became of one session.
type Result struct {
	Session session.ID
	Events  int    // that were purged
	Bytes   int64  // about what they took
	Archive string // name of the file that has them; "" for a leftover that an earlier run has archived
	Again   bool   // it was deleted by an earlier run, which did not come to its end
	Skipped string // why it is still there; then nothing of it has changed
}

// Prune does what a plan says, and tells each result as it comes. Sessions that have news since the plan are skipped. An
// error ends it: what was told is done, the rest is as it was or is taken up by the next run.
func (p *Pruner) Prune(ctx context.Context, plan *Plan, each func(Result)) (err error) {
	if plan.Empty() {
		return nil
	}
	f, err := open(p.Archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.sweep(p.Now()); err != nil {
		return fmt.Errorf("sweep %s: %w", p.Archive, err)
	}
	for _, l := range plan.Leftovers {
		r, err := p.finish(ctx, f, l)
		if err != nil {
			return err
		}
		each(r)
	}
	for _, c := range plan.Candidates {
		r, err := p.prune(ctx, f, c)
		if err != nil {
			return err
		}
		each(r)
	}
	return nil
}

// changed is why a session is skipped that is not as it was planned.
const changed = "it has news"

func (p *Pruner) prune(ctx context.Context, f *folder, c Candidate) (Result, error) {
	r := Result{Session: c.Session, Events: c.Events, Bytes: c.Bytes}
	skipped := Result{Session: c.Session, Skipped: changed}
	last := c.cursors[len(c.cursors)-1]
	file, made, err := p.archive(ctx, f, c.Session, c.cursors)
	if errors.Is(err, bus.ErrNoEvent) { // another run has been here
		return skipped, nil
	}
	if err != nil {
		return r, fmt.Errorf("archive %s: %w", c.Session, err)
	}
	r.Archive = file
	stone, err := p.Bus.Delete(ctx, c.Session, last, turnv1.SessionDeleted{By: p.By, Events: c.Events, Archive: file, Spent: c.spent})
	switch kind := fault.KindOf(err); {
	case kind == fault.Conflict || kind == fault.NotFound:
		skipped.Skipped = err.Error()
		if made { // else a tombstone may name it
			err = f.remove(file)
		} else {
			err = nil
		}
		return skipped, err
	case err != nil: // perhaps it was deleted all the same: the archive stays
		return r, fmt.Errorf("delete %s (archived as %s): %w", c.Session, file, err)
	}
	if _, err := p.Bus.Purge(ctx, c.Session, stone); err != nil {
		return r, fmt.Errorf("purge %s, which is archived and deleted; the next run goes on with it: %w", c.Session, err)
	}
	return r, nil
}

// finish purges what an earlier run has archived and deleted.
func (p *Pruner) finish(ctx context.Context, f *folder, l Leftover) (Result, error) {
	r := Result{Session: l.Session, Events: l.Events, Again: true}
	for _, s := range l.stones {
		if len(s.below) == 0 || s.archive == "" || f.has(s.archive, len(s.below), s.below[len(s.below)-1]) {
			continue
		}
		file, _, err := p.archive(ctx, f, l.Session, s.below) // somebody has taken the archive away, or it is damaged
		if errors.Is(err, bus.ErrNoEvent) {
			return Result{Session: l.Session, Skipped: changed}, nil
		}
		if err != nil {
			return r, fmt.Errorf("archive %s: %w", l.Session, err)
		}
		r.Archive = file
	}
	if _, err := p.Bus.Purge(ctx, l.Session, l.stones[len(l.stones)-1].cursor); err != nil {
		return r, fmt.Errorf("purge %s: %w", l.Session, err)
	}
	return r, nil
}

func (p *Pruner) archive(ctx context.Context, f *folder, s session.ID, cursors []uint64) (file string, made bool, err error) {
	return f.write(nameOf(s, cursors[len(cursors)-1]), func(add func(envelope.Event) error) error {
		for _, cursor := range cursors {
			p.Step()
			ev, err := p.Bus.Get(ctx, cursor)
			if err == nil {
				err = errors.Join(add(ev), p.keepFiles(ctx, f, ev))
			}
			if err != nil {
				return fmt.Errorf("event %d: %w", cursor, err)
			}
		}
		return nil
	})
}

// keepFiles keeps the attachments that an event names.
func (p *Pruner) keepFiles(ctx context.Context, f *folder, ev envelope.Event) error {
	b, ok := ev.Body.(messagev1.Received)
	if !ok {
		return nil
	}
	for _, file := range b.Files {
		if file.Digest == "" { // it was not kept
			continue
		}
		data, err := p.Bus.File(ctx, ev.Session, file.Digest)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err == nil {
			err = f.keep(file.Digest, data)
		}
		if err != nil {
			return fmt.Errorf("attachment %s: %w", file.Digest, err)
		}
	}
	return nil
}
