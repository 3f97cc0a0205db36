package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Save copies the streams of a bus into a folder that is empty or not there, as the user Admin. Work may go on meanwhile;
// what was acknowledged before the call is in the copy. After an error, or when ctx ends, nothing is left of it.
func Save(ctx context.Context, admin *bus.Conn, dir string, o Options) (m Manifest, err error) {
	p, err := newPlace(dir)
	if err != nil {
		return Manifest{}, err
	}
	defer func() {
		if derr := p.discard(); derr != nil {
			err = errors.Join(err, fmt.Errorf("remove what is left of the backup: %w", derr))
		}
	}()
	m = Manifest{Format: format, Version: o.Version, Began: time.Now().UTC()}
	s := saver{admin: admin, dir: p.temp, o: o}
	if m.Streams, err = s.all(ctx); err != nil {
		return Manifest{}, err
	}
	m.Ended = time.Now().UTC()
	if err := m.write(p.temp); err != nil {
		return Manifest{}, fmt.Errorf("write the manifest: %w", err)
	}
	if err := p.commit(); err != nil {
		return Manifest{}, err
	}
	return readManifest(dir)
}

// saver saves the streams of one backup.
type saver struct {
	admin *bus.Conn
	dir   string
	o     Options
}

// all saves in the order of the package comment.
func (s *saver) all(ctx context.Context) ([]Stream, error) {
	journal, err := s.begin(ctx, subject.Journal)
	if err != nil {
		return nil, err
	}
	defer journal.abandon()
	var streams []Stream
	for _, name := range names()[1:] {
		if name == names()[2] { // timers are saved: now the rest of the journal, then what events refer to
			saved, err := s.endJournal(ctx, journal)
			if err != nil {
				return nil, err
			}
			streams = append([]Stream{saved}, streams...)
		}
		saved, err := s.whole(ctx, name)
		if err != nil {
			return nil, err
		}
		streams = append(streams, saved)
	}
	return streams, nil
}

// begin writes the snapshot of a stream.
func (s *saver) begin(ctx context.Context, name string) (*copying, error) {
	c, err := newCopying(s.dir, name, s.o)
	if err != nil {
		return nil, fmt.Errorf("save stream %s: %w", name, err)
	}
	if err := c.snapshot(ctx, s.admin); err != nil {
		c.abandon()
		return nil, fmt.Errorf("save stream %s: %w", name, err)
	}
	return c, nil
}

// endJournal saves the events that came since its snapshot.
func (s *saver) endJournal(ctx context.Context, c *copying) (Stream, error) {
	if err := c.tail(ctx, s.admin); err != nil {
		return Stream{}, fmt.Errorf("save stream %s: %w", subject.Journal, err)
	}
	return c.finish()
}

// whole saves a stream to its end.
func (s *saver) whole(ctx context.Context, name string) (Stream, error) {
	c, err := s.begin(ctx, name)
	if err != nil {
		return Stream{}, err
	}
	defer c.abandon()
	if err := c.tail(ctx, s.admin); err != nil {
		return Stream{}, fmt.Errorf("save stream %s: %w", name, err)
	}
	return c.finish()
}
