package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// RiskError says which parts of a topology were left as they are, as a change of them loses something or makes it less safe.
type RiskError struct{ Changes []Change }

func (e *RiskError) Error() string {
	lines := make([]string, len(e.Changes))
	for i, c := range e.Changes {
		lines[i] = fmt.Sprintf("%s: %s", c, c.Risk)
	}
	return "not done, as this could lose something:\n" + strings.Join(lines, "\n")
}

// ApplyCarefully is Apply where somebody else may rely on what is there: changes with a Risk are left out, and everything else is done.
// Then the error is a *RiskError that has them, and they are in the result, too.
func ApplyCarefully(ctx context.Context, js jetstream.JetStream, t Topology) ([]Change, error) {
	if _, err := Plan(ctx, js, t); err != nil { // that of a newer jetclaw is not touched at all
		return nil, err
	}
	changes, err := converge(ctx, js, t, carefully)
	if err != nil {
		return nil, err
	}
	var risky RiskError
	for _, c := range changes {
		if c.Risk != "" {
			risky.Changes = append(risky.Changes, c)
		}
	}
	if len(risky.Changes) > 0 {
		return changes, &risky
	}
	return changes, nil
}

// riskOf says what an update of a stream could cost.
func riskOf(have, want jetstream.StreamConfig) string {
	var all []string
	if want.Replicas < have.Replicas {
		all = append(all, "with fewer copies fewer servers may be lost")
	}
	if narrower(have.MaxBytes, want.MaxBytes) {
		if want.Discard == jetstream.DiscardOld {
			all = append(all, "its oldest messages are dropped when they do not fit")
		} else {
			all = append(all, "what does not fit is refused")
		}
	}
	if narrower(int64(have.MaxAge), int64(want.MaxAge)) || narrower(have.MaxMsgs, want.MaxMsgs) || narrower(have.MaxMsgsPerSubject, want.MaxMsgsPerSubject) {
		all = append(all, "messages beyond the limit are dropped")
	}
	return strings.Join(all, "; ")
}

// narrower compares limits of which 0 and -1 are none.
func narrower(have, want int64) bool { return want > 0 && (have <= 0 || want < have) }

// Settled says how many copies of the streams of a topology are not there yet or lag behind, and a stream that has one; 0 when all
// are current. Admin only.
func Settled(ctx context.Context, js jetstream.JetStream, t Topology) (missing int, stream string, err error) {
	for _, s := range t.Streams {
		have, err := js.Stream(ctx, s.Config.Name)
		if err != nil {
			return 0, "", named("look at", Change{Object: "stream " + s.Config.Name}, err)
		}
		n := lagging(have.CachedInfo())
		if n > 0 {
			stream = s.Config.Name
		}
		missing += n
	}
	return missing, stream, nil
}

func lagging(info *jetstream.StreamInfo) int {
	if info.Config.Replicas < 2 {
		return 0
	}
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return info.Config.Replicas
	}
	current := 1 // the leader
	for _, r := range info.Cluster.Replicas {
		if r.Current && !r.Offline {
			current++
		}
	}
	return max(info.Config.Replicas-current, 0)
}

// AwaitSettled waits until all copies are current, and tells now and then how many are not.
func AwaitSettled(ctx context.Context, js jetstream.JetStream, t Topology, tell func(missing int, stream string)) error {
	tick := time.NewTicker(settledEvery)
	defer tick.Stop()
	for {
		missing, stream, err := Settled(ctx, js, t)
		if err == nil && missing == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
			return err
		}
		if err == nil {
			tell(missing, stream)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("copies of the streams are still missing or lag behind: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

const settledEvery = 250 * time.Millisecond
