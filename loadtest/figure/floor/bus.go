package floor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Job is one run of the bus floor.
type Job struct {
	Sync       string        `json:"sync"` // "always" or "interval"
	Sessions   int           `json:"sessions"`
	PerSession int           `json:"per_session"` // turns until a session is replaced by a new one
	Warmup     time.Duration `json:"warmup_ns"`
	Duration   time.Duration `json:"duration_ns"`
	Shape      Shape         `json:"shape"`
}

// Result of the bus floor.
type Result struct {
	Answered  stat.Spread   `json:"answered"` // from before the first append until the answer is stored
	Stored    stat.Spread   `json:"stored"`   // from the first event stored until the answer is stored
	Settled   stat.Spread   `json:"settled"`  // until the last append
	PerSecond float64       `json:"per_second"`
	CPU       time.Duration `json:"cpu_ns"` // of the process, a turn

	Hist stat.Histogram `json:"answered_histogram"`
}

// stepHeader carries turn and step, so that a delivery says what it is for. Its size is taken off the padding.
const (
	stepHeader = "jc-step"
	padHeader  = "jc-pad"
	ackWait    = 5 * time.Second
	maxPending = 100_000
)

// RunBus replays the shape in this process.
func RunBus(ctx context.Context, j Job) (Result, error) {
	if len(j.Shape.Steps) == 0 || j.Shape.Answered < 0 || j.Sessions < 1 || j.PerSession < 1 {
		return Result{}, fmt.Errorf("floor: nothing to replay in %+v", j)
	}
	dir, err := os.MkdirTemp("", "jetclaw-floor-")
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	srv, err := server.NewServer(&server.Options{
		ServerName: "floor", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: j.Sync == "always",
	})
	if err != nil {
		return Result{}, fmt.Errorf("floor: %w", err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()

	f := &bus{job: j, ctx: ctx}
	if err := f.connect(srv); err != nil {
		return Result{}, fmt.Errorf("floor: %w", err)
	}
	defer f.close()
	return f.run()
}

type bus struct {
	job   Job
	ctx   context.Context //nolint:containedctx // the run's own; callbacks of nats.go get none
	js    jetstream.JetStream
	conns []*nats.Conn
	stops []jetstream.ConsumeContext
	lanes sync.Map // session.ID → *lane
	work  sync.WaitGroup
	fail  atomic.Pointer[error]
}

func (f *bus) connect(srv *server.Server) error {
	open := func() (jetstream.JetStream, error) {
		nc, err := nats.Connect("", nats.InProcessServer(srv))
		if err != nil {
			return nil, err
		}
		f.conns = append(f.conns, nc)
		return jetstream.New(nc)
	}
	var err error
	if f.js, err = open(); err != nil {
		return err
	}
	if _, err = f.js.CreateStream(f.ctx, jetstream.StreamConfig{
		Name: subject.Journal, Subjects: []string{subject.JournalAll}, AllowDirect: true,
	}); err != nil {
		return err
	}
	for _, b := range f.job.Shape.Bells {
		js, err := open() // as in the product: a connection a service
		if err != nil {
			return err
		}
		cons, err := js.CreateConsumer(f.ctx, subject.Journal, jetstream.ConsumerConfig{
			Durable: b.Name, FilterSubjects: b.Filters, AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: ackWait, MaxAckPending: maxPending, MaxDeliver: -1,
		})
		if err != nil {
			return err
		}
		cc, err := cons.Consume(func(m jetstream.Msg) { f.work.Go(func() { f.ring(js, b.Name, m) }) },
			jetstream.PullMaxMessages(1000), jetstream.PullExpiry(2*time.Second))
		if err != nil {
			return err
		}
		f.stops = append(f.stops, cc)
	}
	return nil
}

func (f *bus) close() {
	for _, s := range f.stops {
		s.Stop()
		<-s.Closed()
	}
	f.work.Wait()
	for _, nc := range f.conns {
		nc.Close()
	}
}

// lane is one session: appends to it are made one at a time.
type lane struct {
	id     session.ID
	mu     sync.Mutex
	last   uint64 // guarded by mu
	turns  sync.Map
	filter string
}

// life is one turn as its sender sees it; each channel is closed once.
type life struct {
	began      time.Time
	storedAt   time.Time     // the first append, by the sender
	answered   chan struct{} // the answering append is stored,
	answeredAt time.Time     // then
	settled    chan struct{} // the last append is stored,
	settledAt  time.Time     // then
}

// append stores one step of a turn behind whatever the lane has.
func (f *bus) append(js jetstream.JetStream, l *lane, turn string, i int) error {
	st := f.job.Shape.Steps[i]
	m := &nats.Msg{Subject: subject.OfEvent(l.id, st.Kind, st.Suffix), Data: pad(st.Data), Header: nats.Header{
		stepHeader: {turn + " " + strconv.Itoa(i)},
	}}
	l.mu.Lock()
	defer l.mu.Unlock()
	prev := strconv.FormatUint(l.last, 10)
	m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{prev}
	m.Header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{l.filter}
	m.Header[envelope.HeaderPrev] = []string{prev}
	size := 0
	for name, v := range m.Header {
		size += len(name) + len(v[0]) + len(": \r\n")
	}
	if room := st.Header - size - len(padHeader+": \r\n"); room > 0 {
		m.Header[padHeader] = []string{string(pad(room))}
	}
	ack, err := js.PublishMsg(f.ctx, m)
	if err != nil {
		return fmt.Errorf("append %s: %w", st.Kind, err)
	}
	l.last = ack.Sequence
	return nil
}

var padding = []byte(strings.Repeat("x", 1<<16))

func pad(n int) []byte { return padding[:min(n, len(padding))] }

// ring does what follows the delivered step, up to the next one that rings, and acknowledges.
func (f *bus) ring(js jetstream.JetStream, consumer string, m jetstream.Msg) {
	turn, index, _ := strings.Cut(m.Headers().Get(stepHeader), " ")
	i, err := strconv.Atoi(index)
	e, perr := subject.ParseEvent(m.Subject())
	v, ok := f.lanes.Load(e.Session)
	if err != nil || perr != nil || !ok {
		f.failed(fmt.Errorf("delivery of %s: not of this run", m.Subject()))
		return
	}
	l := v.(*lane)
	steps := f.job.Shape.Steps
	if steps[i].Rings[0] == consumer { // the first of several goes on
		lf, _ := l.turns.Load(turn)
		for i++; i < len(steps); i++ {
			if err := f.append(js, l, turn, i); err != nil {
				f.failed(err)
				return
			}
			f.passed(lf.(*life), i)
			if len(steps[i].Rings) > 0 {
				break
			}
		}
	}
	if err := m.Ack(); err != nil {
		f.failed(fmt.Errorf("ack: %w", err))
	}
}

func (f *bus) passed(lf *life, i int) {
	if i == f.job.Shape.Answered {
		lf.answeredAt = time.Now()
		close(lf.answered)
	}
	if i == len(f.job.Shape.Steps)-1 {
		lf.settledAt = time.Now()
		close(lf.settled)
	}
}

func (f *bus) failed(err error) {
	if f.ctx.Err() == nil {
		f.fail.CompareAndSwap(nil, &err)
	}
}

// stall bounds one turn: the floor must never hang a load test.
const stall = 60 * time.Second

var errStall = errors.New("a turn of the floor did not go on")

// turn sends one message and waits for its answer.
func (f *bus) turn(l *lane, n int) (*life, error) {
	lf := &life{answered: make(chan struct{}), settled: make(chan struct{})}
	name := strconv.Itoa(n)
	l.turns.Store(name, lf)
	if err := f.append(f.js, l, name, 0); err != nil {
		return nil, err
	}
	lf.storedAt = time.Now()
	return lf, f.wait(lf.answered)
}

func (f *bus) wait(ch chan struct{}) error {
	t := time.NewTimer(stall)
	defer t.Stop()
	select {
	case <-ch:
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	case <-t.C:
		if e := f.fail.Load(); e != nil {
			return *e
		}
		return errStall
	}
}

func cpu() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
