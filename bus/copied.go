package bus

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Whoever may read a stream says where the server's answer goes, and the server sends it also to a subject of a stream that the asker
// may not publish to. What lies there then is a copy of a message that the asker may have written itself, in a place where it may
// write. It cannot be refused, but it shows: an answer has headers that say from where it was read, they are stored with the copy,
// and a later answer adds its own behind them.

// errCopied says that somebody had the server store a message of another place.
var errCopied = errors.New("it is a copy that a server was made to put there")

// schedulerHeader is in what a schedule has stored.
const schedulerHeader = "Nats-Scheduler"

// copied says whether the message that lies at a sequence under a subject was put there as an answer, or by a schedule. The header is
// that of an answer, of a delivery or as it is stored.
func copied(h nats.Header, subj string, seq uint64) bool {
	for _, v := range h[jetstream.SubjectHeader] {
		if v != subj {
			return true
		}
	}
	for _, v := range h[jetstream.SequenceHeader] {
		if n, err := strconv.ParseUint(v, 10, 64); err != nil || n != seq {
			return true
		}
	}
	return len(h[schedulerHeader]) > 0
}

// copiedAnswer is copied for the answer to a question for the last message of a subject.
func copiedAnswer(h nats.Header, subj string) bool {
	seq, err := strconv.ParseUint(own(h, jetstream.SequenceHeader), 10, 64)
	return err != nil || copied(h, subj, seq)
}

// own is what the server that answers says itself: its value comes after those that were stored.
func own(h nats.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// placed corrects what the library has read from the first values.
func placed(m *jetstream.RawStreamMsg) error {
	if len(m.Header[jetstream.SequenceHeader]) < 2 && len(m.Header[jetstream.SubjectHeader]) < 2 {
		return nil
	}
	seq, err := strconv.ParseUint(own(m.Header, jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return fmt.Errorf("an answer without its sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, own(m.Header, jetstream.TimeStampHeaer))
	if err != nil {
		return fmt.Errorf("an answer without its time: %w", err)
	}
	m.Sequence, m.Time, m.Subject = seq, at, own(m.Header, jetstream.SubjectHeader)
	return nil
}

// copiedEvent is what a copy is read as: an event that decides nothing, so that the chain of its session goes on.
func copiedEvent(subj string, h nats.Header, data []byte, cursor uint64) (envelope.Event, error) {
	if _, err := subject.ParseEvent(subj); err != nil {
		subj = own(h, jetstream.SubjectHeader)
	}
	return envelope.Decode(subj, envelope.Header(h), data, cursor, func(string, []byte) (envelope.Body, error) { return nil, errCopied })
}
