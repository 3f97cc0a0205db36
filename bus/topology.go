package bus

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Topology is every stream, bucket and consumer of the bus, as data. Plan compares it with a server, Apply brings it
// about; both need the user Admin.
//
//	EV           all events                                limits, DiscardNew: full refuses, nothing is dropped
//	TIMERS       schedules until they ring, rings until acked   work queue, one a subject, see timerStream
//	SYS          state of servers and connections          DiscardOld, 30 days
//	DEAD         advisories about doorbells given up       limits, DiscardNew
//	KV_snap      folded states                             rebuildable: written behind when it has one copy
//	KV_catalog, KV_settings                                small, one value a key
//	OBJ_blobs    bodies above the claim-check size
//	consumers    one a service on EV and, if it is rung by timers, one on TIMERS; one an Executor on EV; durable, pull, explicit acks
type Topology struct {
	Streams   []Stream
	Consumers []Consumer
	free      int64 // of Limits
}

// Stream is one stream of a Topology.
type Stream struct {
	Config jetstream.StreamConfig
	auto   bool // MaxBytes is automatic: an existing stream may keep another
	copies bool // Replicas are automatic: an existing stream keeps its own
}

// Consumer is one durable consumer of a Topology.
type Consumer struct {
	Stream  string
	Service string // who is rung
	Config  jetstream.ConsumerConfig
}

const (
	dedupWindow  = 2 * time.Minute
	systemAge    = 30 * 24 * time.Hour
	maxTimerSize = 4 << 10 // a timer has no body
)

// Advisories that tell of doorbells that nobody will get any more.
const (
	advisoryMaxDeliveries = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"
	advisoryTerminated    = "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>"
)

// TopologyOf derives the topology from what the services say about themselves, and the executors that the configuration names.
func TopologyOf(specs []Spec, l Limits, executors ...Executor) Topology {
	t := Topology{free: l.Free, Streams: []Stream{
		journalStream(l),
		timerStream(l),
		systemStream(l),
		deadStream(l),
		snapBucket(l),
		bucket(subject.Catalog, l),
		bucket(subject.Settings, l),
		blobStore(l),
	}}
	for i := range t.Streams {
		t.Streams[i].copies = l.Replicas == 0
	}
	for _, s := range specs {
		t.Consumers = append(t.Consumers, consumersOf(s, l)...)
	}
	for _, x := range executors {
		t.Consumers = append(t.Consumers, x.consumer(l))
	}
	return t
}

// base has what all streams share, written as the server reports it, so that Plan can compare.
func base(name string, l Limits, subjects ...string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: subjects, Replicas: max(l.Replicas, 1),
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxConsumers: -1, MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		Duplicates: dedupWindow, AllowDirect: true, Compression: jetstream.NoCompression,
	}
}

func sized(c jetstream.StreamConfig, configured int64, z size, l Limits) Stream {
	c.MaxBytes = configured
	if configured == 0 {
		c.MaxBytes = z.of(l.Free)
	}
	return Stream{Config: c, auto: configured == 0}
}

func journalStream(l Limits) Stream {
	c := base(subject.Journal, l, subject.JournalAll)
	c.Description = "every event of every session"
	c.Metadata, _ = withContract(nil) // it fails for a newer journal only
	c.RePublish = &jetstream.RePublish{Source: subject.JournalAll, Destination: subject.TailAll}
	return sized(c, l.JournalBytes, journalSize, l)
}

// timerStream: the server takes schedules only in a stream with DiscardOld, and a limit in bytes would then drop the
// oldest timers unseen; so it has none, and is bounded by one small message for each service and session. A schedule
// goes when it fires, a ring when its service has acked it.
func timerStream(l Limits) Stream {
	c := base(subject.Timers, l, subject.TimerStoreAll, subject.TimerAll)
	c.Description = "timers until they ring, rings until they are acked"
	c.Retention = jetstream.WorkQueuePolicy
	c.Discard = jetstream.DiscardOld
	c.MaxMsgsPerSubject = 1
	c.MaxMsgSize = maxTimerSize
	c.AllowMsgSchedules = true
	c.AllowRollup = true // required by schedules
	return Stream{Config: c}
}

// systemStream drops its oldest: what a server's connection did last month must never stop one from reporting now.
func systemStream(l Limits) Stream {
	c := base(subject.System, l, subject.SystemAll)
	c.Description = "state of servers and connections"
	c.Discard = jetstream.DiscardOld
	c.MaxAge = systemAge
	return sized(c, 0, systemSize, l)
}

func deadStream(l Limits) Stream {
	c := base(subject.Dead, l, advisoryMaxDeliveries, advisoryTerminated)
	c.Description = "advisories about doorbells that were given up"
	return sized(c, 0, deadSize, l)
}

// bucket has the layout of a NATS key-value bucket (ADR-8), but refuses roll-ups: with one (Nats-Rollup: all) whoever may write any key
// would empty the bucket. One message a key is all there is anyway.
func bucket(name string, l Limits) Stream {
	c := base("KV_"+name, l, "$KV."+name+".>")
	c.MaxMsgsPerSubject = 1
	c.DenyDelete = true
	return sized(c, 0, bucketSize, l)
}

// snapBucket: a lost snapshot costs a longer walk, so its writes need not wait for the disk. The server offers that for
// a single copy only.
func snapBucket(l Limits) Stream {
	c := bucket(subject.Snap, l).Config
	c.Description = "folded states, rebuildable"
	if c.Replicas == 1 {
		c.PersistMode = jetstream.AsyncPersistMode
	}
	return sized(c, l.SnapBytes, snapSize, l)
}

// blobStore has the layout of a NATS object store (ADR-20), but refuses roll-ups, for the same reason: descriptions of an object follow each
// other, and the last one counts.
func blobStore(l Limits) Stream {
	c := base("OBJ_"+subject.Blobs, l, "$O."+subject.Blobs+".C.>", "$O."+subject.Blobs+".M.>")
	c.Description = "bodies above the claim-check size"
	return sized(c, l.BlobBytes, blobSize, l)
}

func consumersOf(s Spec, l Limits) []Consumer {
	var out []Consumer
	add := func(stream, durable string, filters []string) {
		c := jetstream.ConsumerConfig{
			Durable: durable, Name: durable, Description: "doorbells of " + s.Name,
			DeliverPolicy: jetstream.DeliverAllPolicy, ReplayPolicy: jetstream.ReplayInstantPolicy,
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait, MaxDeliver: -1, MaxAckPending: l.MaxAckPending,
			MaxWaiting: maxWaiting, Replicas: 0,
		}
		if len(filters) == 1 {
			c.FilterSubject = filters[0]
		} else {
			c.FilterSubjects = filters
		}
		out = append(out, Consumer{Stream: stream, Service: s.Name, Config: c})
	}
	if len(s.Doorbells) > 0 {
		filters := make([]string, 0, len(s.Doorbells))
		for _, k := range s.Doorbells {
			filters = append(filters, subject.OfBell(k))
		}
		add(subject.Journal, s.Name, disjoint(filters))
	}
	if s.RungInTime() {
		add(subject.Timers, TimerConsumer(s.Name), []string{subject.TimersOf(s.Name)})
	}
	return out
}

// maxWaiting is how many pulls may wait at a consumer: some for each worker process. It is the server's default.
const maxWaiting = 512

// disjoint sorts filters and drops those that another one includes: the server refuses overlapping ones.
func disjoint(filters []string) []string {
	slices.Sort(filters)
	filters = slices.Compact(filters)
	return slices.DeleteFunc(slices.Clone(filters), func(f string) bool {
		return slices.ContainsFunc(filters, func(g string) bool { return g != f && covers(g, f) })
	})
}

// covers says whether every subject that matches f matches pattern too.
func covers(pattern, f string) bool {
	p, q := strings.Split(pattern, "."), strings.Split(f, ".")
	for i, t := range p {
		switch {
		case t == ">":
			return len(q) > i
		case i >= len(q) || q[i] == ">":
			return false
		case t != "*" && t != q[i]:
			return false
		}
	}
	return len(p) == len(q)
}
