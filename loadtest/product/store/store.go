// Package store reads the journal of a stopped daemon: it opens the data directory with a bare NATS server in this
// process, so that what is judged is what was stored, and not what the product says of it.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Record is one stored event and what its storing cost.
type Record struct {
	envelope.Event
	Subject string
	Stored  time.Time // the server's clock
	Header  int       // bytes of the encoded headers
	Data    int       // bytes of the body
}

// Bell is one durable consumer of the journal: what rings whom, and what of it was left.
type Bell struct {
	Stream     string   `json:"stream"`
	Name       string   `json:"name"`
	Filters    []string `json:"filters"`
	Unsent     uint64   `json:"unsent"`      // matching messages never delivered
	Unacked    int      `json:"unacked"`     // delivered, but not acknowledged
	Redelivery int      `json:"redelivered"` // of the unacknowledged, delivered more than once
}

// Rings tells whether the consumer is delivered a subject.
func (b Bell) Rings(subj string) bool {
	if len(b.Filters) == 0 {
		return true
	}
	for _, f := range b.Filters {
		if server.SubjectsCollide(f, subj) {
			return true
		}
	}
	return false
}

// Store is an opened data directory.
type Store struct {
	srv *server.Server
	nc  *nats.Conn
	js  jetstream.JetStream
}

const (
	openTime = 30 * time.Second
	account  = "$G" // of the embedded server: it has one account only
)

// Open opens the store below dir. Nobody else may have it open.
func Open(dir string) (*Store, error) {
	root, err := find(dir)
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: "loadtest", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: root, JetStreamMaxStore: 1 << 50, JetStreamMaxMemory: 64 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", root, err)
	}
	srv.Start()
	s := &Store{srv: srv}
	if !srv.ReadyForConnections(openTime) {
		s.Close()
		return nil, fmt.Errorf("open store %s: the server is not ready", root)
	}
	if s.nc, err = nats.Connect("", nats.InProcessServer(srv)); err != nil {
		s.Close()
		return nil, fmt.Errorf("open store %s: %w", root, err)
	}
	if s.js, err = jetstream.New(s.nc); err != nil {
		s.Close()
		return nil, fmt.Errorf("open store %s: %w", root, err)
	}
	return s, nil
}

// Close ends the server.
func (s *Store) Close() {
	if s.nc != nil {
		s.nc.Close()
	}
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

// JetStream is the opened server's, for who reads without decoding.
func (s *Store) JetStream() jetstream.JetStream { return s.js }

// Sessions counts the events of each session, by the index of the store.
func (s *Store) Sessions(ctx context.Context) (map[session.ID]int, error) {
	st, err := s.js.Stream(ctx, subject.Journal)
	if err != nil {
		return nil, fmt.Errorf("sessions of the journal: %w", err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(subject.JournalAll))
	if err != nil {
		return nil, fmt.Errorf("sessions of the journal: %w", err)
	}
	out := map[session.ID]int{}
	for subj, n := range info.State.Subjects {
		e, err := subject.ParseEvent(subj)
		if err != nil {
			return nil, fmt.Errorf("sessions of the journal: %w", err)
		}
		out[e.Session] += int(n)
	}
	return out, nil
}

var errFound = errors.New("found")

// find looks for <root>/jetstream/<account>/streams/<journal> below dir.
func find(dir string) (string, error) {
	want := filepath.Join("jetstream", account, "streams", subject.Journal)
	root := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasSuffix(path, string(filepath.Separator)+want) {
			root = strings.TrimSuffix(path, string(filepath.Separator)+want)
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return root, nil
	case err != nil:
		return "", fmt.Errorf("look for the journal: %w", err)
	}
	return "", fmt.Errorf("no journal (%s) below %s", want, dir)
}

// Journal reads every event, in order. A message that is not an event is an error: nothing else belongs there.
func (s *Store) Journal(ctx context.Context) ([]Record, error) {
	st, err := s.js.Stream(ctx, subject.Journal)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	blobs, err := s.js.ObjectStore(ctx, subject.Blobs)
	if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	last := st.CachedInfo().State.LastSeq
	if st.CachedInfo().State.Msgs == 0 {
		return nil, nil
	}
	cons, err := st.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	it, err := cons.Messages(jetstream.PullMaxMessages(2000), jetstream.PullExpiry(2*time.Second))
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer it.Stop()
	stop := context.AfterFunc(ctx, it.Stop)
	defer stop()

	out := make([]Record, 0, st.CachedInfo().State.Msgs)
	for {
		m, err := it.Next()
		if err != nil {
			return nil, fmt.Errorf("read journal after %d events: %w", len(out), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		r, err := Read(ctx, Message{m.Subject(), m.Headers(), m.Data(), meta.Sequence.Stream, meta.Timestamp}, blobs)
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		out = append(out, r)
		if meta.Sequence.Stream >= last {
			return out, nil
		}
	}
}

// Message is one stored message as a server gives it.
type Message struct {
	Subject  string
	Header   nats.Header
	Data     []byte
	Sequence uint64
	Stored   time.Time
}

// Read decodes a message of the journal. Bodies that are kept apart are read from blobs, if there are some.
func Read(ctx context.Context, m Message, blobs jetstream.ObjectStore) (Record, error) {
	data := m.Data
	r := Record{Subject: m.Subject, Stored: m.Stored, Data: len(data)}
	for name, values := range m.Header {
		for _, v := range values {
			r.Header += len(name) + len(v) + len(": \r\n")
		}
	}
	if name := m.Header.Get(envelope.HeaderBlob); name != "" && blobs != nil {
		var err error
		if data, err = blobs.GetBytes(ctx, name); err != nil {
			return Record{}, fmt.Errorf("body of event %d: %w", m.Sequence, err)
		}
	}
	var err error
	r.Event, err = envelope.Decode(m.Subject, envelope.Header(m.Header), data, m.Sequence, registry.Decode)
	return r, err
}

// Bells lists the durable consumers of the journal and of the timers.
func (s *Store) Bells(ctx context.Context) ([]Bell, error) {
	var out []Bell
	for _, name := range []string{subject.Journal, subject.Timers} {
		st, err := s.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("consumers of %s: %w", name, err)
		}
		l := st.ListConsumers(ctx)
		for i := range l.Info() {
			if i.Config.Durable == "" {
				continue
			}
			b := Bell{
				Stream: name, Name: i.Config.Durable, Filters: i.Config.FilterSubjects,
				Unsent: i.NumPending, Unacked: i.NumAckPending, Redelivery: i.NumRedelivered,
			}
			if i.Config.FilterSubject != "" {
				b.Filters = append(b.Filters, i.Config.FilterSubject)
			}
			out = append(out, b)
		}
		if err := l.Err(); err != nil {
			return nil, fmt.Errorf("consumers of %s: %w", name, err)
		}
	}
	return out, nil
}
