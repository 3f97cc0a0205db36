package prober

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// bounds of the histogram of whole attempts, in seconds.
func bounds() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

// stats is what a prober has found. Its size does not depend on for how long.
type stats struct {
	began time.Time

	mu       sync.Mutex
	attempts uint64          // guarded by mu; as all of these
	failures map[Kind]uint64 // by kind
	good     uint64
	late     uint64
	seconds  float64    // of the good ones, all together
	buckets  [14]uint64 // of the good ones: not more than the bound; the last has all others
	last     time.Time  // when one was good
}

func (s *stats) add(took time.Duration, late uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	s.late += late
	if err != nil {
		if f, ok := errors.AsType[*Failure](err); ok {
			s.failures[f.Kind]++
		}
		return
	}
	s.good++
	s.last = time.Now()
	s.seconds += took.Seconds()
	i := 0
	for _, b := range bounds() {
		if took.Seconds() <= b {
			break
		}
		i++
	}
	s.buckets[i]++
}

// Counts are the attempts that have ended, and those of them that were good.
func (p *Prober) Counts() (attempts, good uint64) {
	p.stats.mu.Lock()
	defer p.stats.mu.Unlock()
	return p.stats.attempts, p.stats.good
}

// Metrics writes what was found in the text format of Prometheus.
func (p *Prober) Metrics(w io.Writer) {
	s := &p.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	metric := func(name, kind, help string) {
		_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	metric("jetclaw_prober_attempts_total", "counter", "Messages that were tried, with their reply and their events.")
	_, _ = fmt.Fprintf(w, "jetclaw_prober_attempts_total %d\n", s.attempts)
	metric("jetclaw_prober_failures_total", "counter", "What was wrong with attempts, by kind.")
	for _, k := range Kinds() {
		_, _ = fmt.Fprintf(w, "jetclaw_prober_failures_total{kind=%q} %d\n", k, s.failures[k])
	}
	metric("jetclaw_prober_late_total", "counter", "Messages and answers that came when their attempt was over.")
	_, _ = fmt.Fprintf(w, "jetclaw_prober_late_total %d\n", s.late)
	metric("jetclaw_prober_attempt_duration_seconds", "histogram", "Good attempts, from the message to its answer in the events.")
	sum := uint64(0)
	for i, b := range bounds() {
		sum += s.buckets[i]
		_, _ = fmt.Fprintf(w, "jetclaw_prober_attempt_duration_seconds_bucket{le=\"%g\"} %d\n", b, sum)
	}
	_, _ = fmt.Fprintf(w, "jetclaw_prober_attempt_duration_seconds_bucket{le=\"+Inf\"} %d\n", s.good)
	_, _ = fmt.Fprintf(w, "jetclaw_prober_attempt_duration_seconds_sum %g\njetclaw_prober_attempt_duration_seconds_count %d\n", s.seconds, s.good)
	metric("jetclaw_prober_last_success_timestamp_seconds", "gauge", "When an attempt was good; 0: never yet.")
	last := 0.0
	if !s.last.IsZero() {
		last = float64(s.last.UnixMilli()) / 1000
	}
	_, _ = fmt.Fprintf(w, "jetclaw_prober_last_success_timestamp_seconds %.3f\n", last)
	metric("jetclaw_prober_start_timestamp_seconds", "gauge", "When this prober began.")
	_, _ = fmt.Fprintf(w, "jetclaw_prober_start_timestamp_seconds %.3f\n", float64(s.began.UnixMilli())/1000)
}
