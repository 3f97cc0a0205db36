package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server/archive"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// copying is one stream on its way into a file. The server's archive is read entry by entry and written again, as what it
// leaves out has to be put in before its end:
//
//	state.json            how the stream begins; it goes on counting from the last entry
//	consumers/<name>      configuration and state, as many as state.json says
//	<subject>             a message, with its sequence and time
//	"", all fields zero   the end: without it the archive was cut off
type copying struct {
	saved Stream
	o     Options
	total uint64 // messages that the snapshot promises
	next  uint64 // first sequence that may come

	// Where the stream keeps one message a subject: the last of each. A copy may hold two of one subject, as the second came
	// while it was made; restored, the first goes.
	last map[string]uint64

	file  *os.File
	sum   hash.Hash
	press *s2.Writer
	out   *archive.Writer
	buf   []byte
}

const (
	stateName     = "state.json"
	consumersName = "consumers/"
)

// maxEntry bounds what is read into memory: the state of a consumer with all its pending doorbells.
const maxEntry = 64 << 20

func newCopying(dir, name string, o Options) (*copying, error) {
	f, err := create(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	c := &copying{saved: Stream{Name: name}, o: o, file: f, sum: sha256.New(), buf: make([]byte, chunkSize)}
	// One goroutine at a time: the work that goes on beside has the other processors.
	c.press = s2.NewWriter(io.MultiWriter(f, c.sum, counter{&c.saved.Bytes}), s2.WriterConcurrency(1))
	c.out = archive.NewWriter(c.press)
	return c, nil
}

type counter struct{ n *int64 }

func (w counter) Write(p []byte) (int, error) {
	*w.n += int64(len(p))
	return len(p), nil
}

// abandon closes what finish has not.
func (c *copying) abandon() {
	if c.file != nil {
		_ = c.press.Close() // it ends its goroutines; the file goes
		_ = c.file.Close()
		c.file = nil
	}
}

// snapshot writes all but the end of the server's snapshot.
func (c *copying) snapshot(ctx context.Context, admin *bus.Conn) (err error) {
	if _, err := stateOf(ctx, admin, c.saved.Name); err != nil { // of one that is not there a cluster answers nothing below
		return err
	}
	inbox := admin.NATS().NewInbox()
	d, err := newDeliveries(admin, inbox)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	var r struct {
		Config json.RawMessage `json:"config"`
		State  state           `json:"state"`
	}
	request := struct {
		Deliver string `json:"deliver_subject"`
	}{inbox}
	if err := api(ctx, admin, "STREAM.SNAPSHOT."+c.saved.Name, request, &r); err != nil {
		return err
	}
	c.saved.Config, c.total = r.Config, r.State.Messages
	keep, err := keepingOf(r.Config)
	if err != nil {
		return err
	}
	if keep.PerSubject == 1 {
		c.last = map[string]uint64{}
	}
	in := archive.NewReader(s2.NewReader(d.reader(ctx)))
	if err := c.head(in); err != nil {
		return c.because(d, err)
	}
	for {
		hdr, err := in.Next()
		switch {
		case err != nil:
			return c.because(d, err)
		case hdr.Sequence != 0:
			if err := c.message(hdr, in); err != nil {
				return c.because(d, err)
			}
			continue
		case *hdr != archive.Header{}:
			return fault.New(fault.Unavailable, "the server's snapshot has an unknown entry %.40q", hdr.Name)
		}
		if _, err := in.Next(); !errors.Is(err, io.EOF) {
			return c.because(d, err)
		}
		return nil
	}
}

// because prefers what the deliveries say to what it makes of the archive.
func (c *copying) because(d *deliveries, err error) error {
	switch {
	case d.end != nil && !errors.Is(d.end, io.EOF):
		return d.end
	case errors.Is(err, archive.ErrInvalidArchive) && c.saved.Last == 0, errors.Is(err, s2.ErrCorrupt):
		return fault.New(fault.Unavailable, "the server's snapshot has a form that is not known here; nats-server 2.15 has it: %w", err)
	case errors.Is(err, io.EOF), err == nil:
		return fault.New(fault.Unavailable, "the server's snapshot was cut off")
	}
	return err
}

// head copies how the stream begins, and its durable consumers.
func (c *copying) head(in *archive.Reader) error {
	hdr, first, err := entry(in)
	if err != nil {
		return err
	}
	var begin map[string]json.RawMessage
	var st struct {
		state
		Consumers int `json:"consumer_count"`
	}
	if hdr.Name != stateName || json.Unmarshal(first, &begin) != nil || json.Unmarshal(first, &st) != nil {
		return fault.New(fault.Unavailable, "the server's snapshot does not begin with %s", stateName)
	}
	type consumer struct {
		hdr  *archive.Header
		data []byte
	}
	var durable []consumer
	for range st.Consumers {
		h, data, err := entry(in)
		if err != nil {
			return err
		}
		var v struct {
			Config struct {
				Durable string `json:"durable_name"`
			} `json:"config"`
		}
		if !strings.HasPrefix(h.Name, consumersName) || json.Unmarshal(data, &v) != nil {
			return fault.New(fault.Unavailable, "the server's snapshot has %.40q where a consumer was to come", h.Name)
		}
		if v.Config.Durable != "" {
			durable = append(durable, consumer{h, data})
		}
	}
	// A stream that nothing was ever written to says 0, behind which no message may follow.
	st.First = max(st.First, 1)
	c.next, c.saved.Last, c.saved.Consumers = st.First, max(st.Last, st.First-1), len(durable)
	begin["first_seq"] = fmt.Append(nil, st.First)
	begin["consumer_count"] = fmt.Append(nil, len(durable))
	if first, err = json.Marshal(begin); err != nil {
		return err
	}
	hdr.PayloadSize = int64(len(first))
	if err := c.entry(hdr, first); err != nil {
		return err
	}
	for _, d := range durable {
		if err := c.entry(d.hdr, d.data); err != nil {
			return err
		}
	}
	return nil
}

// entry reads one that is kept in memory.
func entry(in *archive.Reader) (*archive.Header, []byte, error) {
	hdr, err := in.Next()
	if err != nil {
		return nil, nil, err
	}
	if hdr.HeaderSize+hdr.PayloadSize > maxEntry {
		return nil, nil, fault.New(fault.Unavailable, "the server's snapshot has %.40q with %d bytes", hdr.Name, hdr.PayloadSize)
	}
	data, err := io.ReadAll(in)
	return hdr, data, err
}

func (c *copying) entry(hdr *archive.Header, data []byte) error {
	if err := c.out.WriteHeader(hdr); err != nil {
		return err
	}
	_, err := c.out.Write(data)
	return err
}

// message writes one message whose bytes come from in.
func (c *copying) message(hdr *archive.Header, in io.Reader) error {
	if hdr.Sequence < c.next {
		return fault.New(fault.Unavailable, "message %d comes after %d", hdr.Sequence, c.next-1)
	}
	if err := c.out.WriteHeader(hdr); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{c.out}, io.LimitReader(in, hdr.HeaderSize+hdr.PayloadSize), c.buf); err != nil {
		return err
	}
	if c.saved.Messages++; c.saved.Messages == 1 {
		c.saved.First = hdr.Sequence
	}
	if c.last != nil {
		c.last[hdr.Name] = hdr.Sequence
	}
	c.saved.Last = max(c.saved.Last, hdr.Sequence)
	c.next = hdr.Sequence + 1
	if done := c.saved.Messages; done%toldEvery == 0 {
		c.o.tell(Progress{Doing: Saving, Stream: c.saved.Name, Done: int64(done), Total: int64(max(c.total, done))})
	}
	return nil
}

const toldEvery = 256

// finish writes the end and returns what there is.
func (c *copying) finish() (Stream, error) {
	err := c.entry(&archive.Header{}, nil)
	err = errors.Join(err, c.press.Close(), c.file.Sync(), c.file.Close())
	c.file = nil
	if err != nil {
		return Stream{}, fmt.Errorf("save stream %s: %w", c.saved.Name, err)
	}
	c.saved.SHA256 = hex.EncodeToString(c.sum.Sum(nil))
	if c.last != nil {
		c.saved.Messages = uint64(len(c.last))
		c.saved.First = slices.Min(slices.AppendSeq([]uint64{c.saved.Last + 1}, maps.Values(c.last)))
	}
	if c.saved.Messages == 0 {
		c.saved.First = c.saved.Last + 1
	}
	c.o.tell(Progress{Doing: Saving, Stream: c.saved.Name, Done: int64(c.saved.Messages), Total: int64(c.saved.Messages)})
	return c.saved, nil
}
