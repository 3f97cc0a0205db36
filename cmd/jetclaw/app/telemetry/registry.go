package telemetry

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/VictoriaMetrics/metrics"
)

// maxSeries bounds the series of one metric: a label value that comes too late counts as Other.
const maxSeries = 500

// registry holds the metrics of Table. Each is a family with a set of its own, so that what is written is in the order of the table
// and has its help.
type registry struct {
	families map[string]*family
	order    []*family
}

// family is one metric with all its series.
type family struct {
	Metric
	set *metrics.Set

	mu   sync.Mutex
	read func(emit func(value float64, labels ...string)) // guarded by mu; of a gauge that is asked when it is written
}

func newRegistry() *registry {
	r := &registry{families: map[string]*family{}}
	for _, m := range Table() {
		f := &family{Metric: m, set: metrics.NewSet()}
		r.families[m.Name] = f
		r.order = append(r.order, f)
	}
	return r
}

// of is the family of a name; one that is not in the table is a mistake of ours.
func (r *registry) of(name string, t Type) *family {
	f := r.families[name]
	if f == nil || f.Type != t {
		panic("telemetry: " + name + " is no " + string(t) + " of the table")
	}
	return f
}

// labelsKey is the values of a series. No metric has more labels.
type labelsKey [4]string

// vec is the series of one family. It is safe for concurrent use, and a series that is there costs no allocation.
type vec[T any] struct {
	f    *family
	make func(series string) T

	mu  sync.RWMutex
	all map[labelsKey]T // guarded by mu
}

func (r *registry) counter(name string) *vec[*metrics.Counter] {
	f := r.of(name, Counter)
	return &vec[*metrics.Counter]{f: f, make: f.set.GetOrCreateCounter, all: map[labelsKey]*metrics.Counter{}}
}

// amount is a counter of what is no whole number.
func (r *registry) amount(name string) *vec[*metrics.FloatCounter] {
	f := r.of(name, Counter)
	return &vec[*metrics.FloatCounter]{f: f, make: f.set.GetOrCreateFloatCounter, all: map[labelsKey]*metrics.FloatCounter{}}
}

func (r *registry) histogram(name string) *vec[*metrics.PrometheusHistogram] {
	f := r.of(name, Histogram)
	return &vec[*metrics.PrometheusHistogram]{
		f: f, all: map[labelsKey]*metrics.PrometheusHistogram{},
		make: func(series string) *metrics.PrometheusHistogram {
			return f.set.GetOrCreatePrometheusHistogramExt(series, f.Buckets)
		},
	}
}

// gauge has read called at each scrape.
func (r *registry) gauge(name string, read func(emit func(value float64, labels ...string))) {
	f := r.of(name, Gauge)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = read
}

// sum is a counter that somebody else counts.
func (r *registry) sum(name string, read func(emit func(value float64, labels ...string))) {
	f := r.of(name, Counter)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = read
}

// with is the series of label values, in the order of the table.
func (v *vec[T]) with(values ...string) T {
	var key labelsKey
	if copy(key[:], values) != len(v.f.Labels) {
		panic(fmt.Sprintf("telemetry: %s has the labels %v", v.f.Name, v.f.Labels))
	}
	v.mu.RLock()
	s, ok := v.all[key]
	v.mu.RUnlock()
	if ok {
		return s
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.all[key]; ok {
		return s
	}
	if len(v.all) >= maxSeries {
		for i := range v.f.Labels {
			key[i] = Other
		}
		if s, ok := v.all[key]; ok {
			return s
		}
	}
	s = v.make(v.f.series(key[:len(v.f.Labels)]))
	v.all[key] = s
	return s
}

// series is how a series is written.
func (f *family) series(values []string) string {
	if len(values) == 0 {
		return f.Name
	}
	var b strings.Builder
	b.WriteString(f.Name)
	for i, v := range values {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(f.Labels[i])
		b.WriteString(`="`)
		b.WriteString(clean(v))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

const maxValue = 100 // bytes of a label value

// clean keeps a label value to what is in names: nothing of it has to be escaped.
func clean(v string) string {
	v = v[:min(len(v), maxValue)]
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '"' && r != '\\' && r != '{' && r != '}' {
			return r
		}
		return '_'
	}, v)
}

// write writes all metrics in the text format of Prometheus.
func (r *registry) write(to io.Writer) error {
	w := bufio.NewWriter(to)
	for _, f := range r.order {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Type)
		f.set.WritePrometheus(w)
		f.mu.Lock()
		read := f.read
		f.mu.Unlock()
		if read == nil {
			continue
		}
		lines := map[string]float64{} // a series stands there once
		read(func(value float64, labels ...string) {
			if len(labels) != len(f.Labels) {
				panic(fmt.Sprintf("telemetry: %s has the labels %v", f.Name, f.Labels))
			}
			lines[f.series(labels)] += value
		})
		for _, s := range slices.Sorted(maps.Keys(lines)) {
			fmt.Fprintf(w, "%s %s\n", s, strconv.FormatFloat(lines[s], 'g', -1, 64))
		}
	}
	metrics.WriteProcessMetrics(w)
	return w.Flush()
}
