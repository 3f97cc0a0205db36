package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// storeAlarm is the share of a stream's room at which somebody should know, storeFull that at which it begins to refuse.
const (
	storeAlarm = 0.7
	storeFull  = 0.9
)

// sizeEvidence is what a finding about a stream's size shows.
type sizeEvidence struct {
	Stream   string `json:"stream"`
	Bytes    uint64 `json:"bytes"`
	MaxBytes uint64 `json:"max_bytes"`
	Messages uint64 `json:"messages"`
}

// store looks at how full the journal and the files are, and says what a stored event is worth.
func (x *examination) store(ctx context.Context) error {
	u, err := x.c.Conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	id, l, fix := "journal.size", health.Fine, ""
	switch {
	case u.Full() >= storeFull:
		id, l, fix = "journal.full", health.Problem, "new messages are refused: delete sessions (jetclaw sessions prune), or raise bus.max_bytes"
	case u.Full() >= storeAlarm:
		id, l, fix = "journal.full", health.Warning, "at 90 % new messages are refused: jetclaw sessions prune, or a higher bus.max_bytes"
	}
	x.size(id, l, "journal", fix, subject.Journal, u)
	files, err := x.c.Conn.FileUsage(ctx)
	if err != nil {
		return err
	}
	id, l, fix = "files.size", health.Fine, ""
	if files.Full() >= storeAlarm {
		id, l, fix = "files.full", health.Warning, "from 75 % on files that people send are not kept: delete sessions (jetclaw sessions prune)"
	}
	x.size(id, l, "files", fix, subject.Blobs, files)
	if !x.away() {
		promise := "an event that was acknowledged is on disk"
		if x.e.Config.Bus.Sync == "interval" {
			promise = "a power failure can lose the last moments; a killed process loses nothing"
		}
		x.report.Sayf("store.sync", health.Fine, "journal", "", "bus.sync is %s: %s", x.e.Config.Bus.Sync, promise)
	}
	return nil
}

func (x *examination) size(id string, l health.Severity, check, fix, stream string, u bus.Usage) {
	x.report.Add(health.Finding{
		ID: id, Severity: l, Check: check, Fix: fix,
		Text:     fmt.Sprintf("%d of %d MB are used (%.0f %%)", u.Bytes>>20, u.MaxBytes>>20, 100*u.Full()),
		Evidence: sizeEvidence{stream, u.Bytes, u.MaxBytes, u.Messages},
	})
}

// changeEvidence is what a finding about the topology shows.
type changeEvidence struct {
	Object string   `json:"object"`
	Diff   []string `json:"diff,omitempty"`
}

// plan looks whether the server has all streams and consumers, as they should be.
func (x *examination) plan(ctx context.Context) error {
	var err error
	if x.topology, err = x.e.Topology(); err != nil {
		return err
	}
	plan, err := bus.Plan(ctx, x.admin.JetStream(), x.topology)
	if err != nil {
		return err
	}
	x.broken = x.topology
	x.broken.Streams, x.broken.Consumers = nil, nil
	wrong := 0
	for i, ch := range plan {
		if !x.differs(ch) {
			continue
		}
		wrong++
		if n := len(x.topology.Streams); i < n {
			x.broken.Streams = append(x.broken.Streams, x.topology.Streams[i])
		} else {
			x.broken.Consumers = append(x.broken.Consumers, x.topology.Consumers[i-n])
		}
	}
	if wrong == 0 {
		x.report.Sayf("topology.ok", health.Fine, "bus", "", "%d streams and %d consumers are as they should be",
			len(x.topology.Streams), len(x.topology.Consumers))
	}
	return x.streams(ctx)
}

// differs tells of one stream or consumer that is not as it should be.
func (x *examination) differs(ch bus.Change) bool {
	fix := "jetclaw doctor --repair, or restart the daemon"
	if x.away() {
		fix = "jetclaw topology apply (with the key of the user admin)"
	}
	f := health.Finding{Check: "bus", Fix: fix, Evidence: changeEvidence{ch.Object, ch.Diff}}
	switch ch.Action {
	case bus.Unchanged, bus.Delete: // a plan deletes nothing
		return false
	case bus.Create:
		f.ID, f.Severity, f.Text = "topology.missing", health.Problem, "there is no "+ch.Object
	case bus.Update, bus.Replace:
		if !x.away() && len(ch.Diff) == 1 && strings.HasPrefix(ch.Diff[0], "max_bytes: ") {
			return false // by what the disk has now; a start sees to it
		}
		f.ID, f.Severity = "topology.differs", health.Warning
		f.Text = fmt.Sprintf("the %s is not as this version has it: %s", ch.Object, strings.Join(ch.Diff, ", "))
		for _, d := range ch.Diff {
			if strings.HasPrefix(d, "deliver_policy: ") || strings.HasPrefix(d, "ack_policy: ") {
				f.Severity = health.Problem // no server lets that be changed: a start would fail
				f.Fix = strings.TrimSuffix(fix, ", or restart the daemon")
			}
		}
	}
	x.report.Add(f)
	return true
}

// streams looks at how full the others are.
func (x *examination) streams(ctx context.Context) error {
	all, err := bus.Streams(ctx, x.admin, x.topology)
	if err != nil {
		return err
	}
	x.copies(all)
	for _, s := range all {
		if s.Name == subject.Journal || strings.HasSuffix(s.Name, "_"+subject.Blobs) || s.Full() < storeAlarm || s.Name == subject.System {
			continue // told of, or it drops its oldest
		}
		l, fix := health.Warning, "it refuses what does not fit"
		if s.Full() >= storeFull {
			l = health.Problem
		}
		if s.Name == subject.Dead {
			fix = "deal with them: jetclaw dead list, jetclaw dead drop --all"
		}
		x.size("stream.full", l, "stream "+s.Name, fix, s.Name, s.Usage)
	}
	return nil
}

// copiesEvidence is what a finding about a server whose copies are not there shows.
type copiesEvidence struct {
	Server  string   `json:"server"`
	Streams []string `json:"streams"`
}

// copies names the servers whose copies are away or lag.
func (x *examination) copies(all []bus.StreamState) {
	behind := map[string][]string{} // streams by server
	for _, s := range all {
		for _, server := range s.Behind {
			behind[server] = append(behind[server], s.Name)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(behind)) {
		x.report.Add(health.Finding{
			ID: "copies.behind", Severity: health.Warning, Check: "bus", Evidence: copiesEvidence{server, behind[server]},
			Text: fmt.Sprintf("the NATS server %s is away or behind, with its copies of %s", server, strings.Join(behind[server], ", ")),
			Fix:  "start it again; it catches up by itself. While it is away the others are what is left: see deploy/RUNBOOK.md, A lost node",
		})
	}
}
