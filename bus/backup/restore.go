package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ErrNotEmpty says that there is a journal with events where a backup was to be restored: they would be lost.
var ErrNotEmpty = errors.New("the journal has events")

// Restore puts a backup in the place of the streams of a bus, as the user Admin. No service may run. The journal there has
// to be empty (Empty says so); all other streams of a jetclaw are replaced, whatever they hold. All files are checked before
// anything is touched. Afterwards the caller applies the topology: it makes the bucket of snapshots and consumers that
// are missing, and fits limits to this disk.
//
// After an error, or when ctx ends, the journal is empty or marked as unfinished, and Restore may be called again. What had been
// restored until then is removed, as far as the bus still answers.
func Restore(ctx context.Context, admin *bus.Conn, dir string, o Options) (Manifest, error) {
	m, err := Check(ctx, dir, o)
	if err != nil {
		return m, err
	}
	if err := o.patiently(ctx, func() error { return Empty(ctx, admin) }); err != nil {
		return m, err
	}
	r := restorer{admin: admin, dir: dir, o: o}
	if err := r.all(ctx, m); err != nil {
		r.cleanUp(ctx, names()...)
		return m, err
	}
	return m, nil
}

func (r *restorer) all(ctx context.Context, m Manifest) error {
	for _, name := range append(names(), rebuilt) {
		if err := r.o.patiently(ctx, func() error { return r.remove(ctx, name) }); err != nil {
			return err
		}
	}
	// In the reverse order of saving: the journal last, and before it the timers, which ring from now on.
	byName := map[string]Stream{}
	for _, s := range m.Streams {
		byName[s.Name] = s
	}
	for _, name := range slices.Backward(names()) {
		if err := r.o.patiently(ctx, func() error { return r.restore(ctx, byName[name], m.Sum) }); err != nil {
			return fmt.Errorf("restore stream %s from %s: %w", name, r.dir, err)
		}
	}
	return nil
}

// unfinished is the mark of a journal that is being restored; its value is the backup.
const unfinished = "jetclaw-restoring"

// Empty returns nil when a backup may be restored here: there is no journal, or nothing was ever appended to it, or it is
// what an unfinished Restore has left. Else the error is ErrNotEmpty.
func Empty(ctx context.Context, admin *bus.Conn) error {
	s, err := admin.JetStream().Stream(ctx, subject.Journal)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at stream %s: %w", subject.Journal, err)
	}
	info := s.CachedInfo()
	if _, marked := info.Config.Metadata[unfinished]; marked || info.State.LastSeq == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "%w: %d of them, up to cursor %d", ErrNotEmpty, info.State.Msgs, info.State.LastSeq)
}

// restorer restores the streams of one backup.
type restorer struct {
	admin *bus.Conn
	dir   string
	o     Options
}

func (r *restorer) remove(ctx context.Context, name string) error {
	if err := r.admin.JetStream().DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("remove stream %s: %w", name, err)
	}
	return nil
}

func (r *restorer) restore(ctx context.Context, s Stream, backup string) error {
	config, err := copied(s.Config, r.o.Replicas)
	if err != nil {
		return err
	}
	plain := config
	if s.Name == subject.Journal {
		if config, err = marked(config, backup); err != nil {
			return err
		}
	}
	got, err := r.send(ctx, s, config)
	began := time.Now()
	for again := 0; (again < maxAgain || time.Since(began) < stallTime) && inTheWay(err) && pause(ctx); again++ {
		r.cleanUp(ctx, s.Name)
		got, err = r.send(ctx, s, config)
	}
	if err == nil {
		err = s.compare(got)
	}
	if err != nil {
		r.cleanUp(ctx, s.Name)
		return err
	}
	if s.Name != subject.Journal {
		return nil
	}
	return r.o.patiently(ctx, func() error { // without the mark
		return api(ctx, r.admin, "STREAM.UPDATE."+s.Name, plain, &struct{}{})
	})
}

// A stream that the server could not store is sent anew so often, and for so long: an attempt of which it has heard no more blocks
// the stream for 5 s.
const (
	maxAgain  = 3
	stallTime = 6 * time.Second
)

const (
	codeRestoreFailed jetstream.ErrorCode = 10062
	codeRestoreExists jetstream.ErrorCode = 10130
)

// inTheWay says that the server could not store what it was sent: what was there before, or the end of an attempt that was
// cut off, may not have gone yet.
func inTheWay(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (refused.ErrorCode == codeRestoreFailed || refused.ErrorCode == codeRestoreExists)
}

func pause(ctx context.Context) bool {
	select {
	case <-time.After(200 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// cleanUp removes what an attempt that failed has left. The next one would do it, too.
func (r *restorer) cleanUp(ctx context.Context, names ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	for _, name := range names {
		if err := r.remove(ctx, name); err != nil {
			r.admin.Log().Debug("clean up after a restore", "stream", name, "error", err)
		}
	}
}

const farewell = 10 * time.Second

// copied is a configuration with so many copies: those of the bus that it was saved from may be more than there can be here, or fewer.
func copied(config json.RawMessage, replicas int) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	fields["num_replicas"] = json.RawMessage(strconv.Itoa(max(replicas, 1)))
	if replicas > 0 {
		fields["max_bytes"] = json.RawMessage("-1")
	}
	return json.Marshal(fields)
}

// marked adds the mark to a configuration.
func marked(config json.RawMessage, backup string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var known struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := errors.Join(json.Unmarshal(config, &fields), json.Unmarshal(config, &known)); err != nil {
		return nil, err
	}
	metadata := map[string]string{unfinished: backup}
	maps.Copy(metadata, known.Metadata)
	var err error
	if fields["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// keeping is what of a stream's configuration says which messages stay.
type keeping struct {
	PerSubject int   `json:"max_msgs_per_subject"`
	MaxAge     int64 `json:"max_age"`
	Schedules  bool  `json:"allow_msg_schedules"`
	TTL        bool  `json:"allow_msg_ttl"`
}

func keepingOf(config json.RawMessage) (k keeping, err error) {
	if err := json.Unmarshal(config, &k); err != nil {
		return k, fmt.Errorf("read the configuration of a stream: %w", err)
	}
	return k, nil
}

// moves says whether the stream changes by itself, as messages grow old or timers ring.
func (k keeping) moves() bool { return k.MaxAge > 0 || k.Schedules || k.TTL }

// compare holds what was restored against the manifest.
func (s Stream) compare(got state) error {
	keep, err := keepingOf(s.Config)
	if err != nil {
		return err
	}
	want := state{Messages: s.Messages, First: s.First, Last: s.Last}
	if got.Messages == 0 {
		got.First = got.Last + 1 // a stream says 0 there while nothing was ever written to it
	}
	if keep.moves() && got.Last >= want.Last && got.Messages <= want.Messages || got == want {
		return nil
	}
	return fault.New(fault.Internal, "it has %d messages (%d to %d) now, the backup has %d (%d to %d)",
		got.Messages, got.First, got.Last, want.Messages, want.First, want.Last)
}
