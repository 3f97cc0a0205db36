package stat

import (
	"math"
	"slices"
	"time"
)

// perDecade is how many buckets of a histogram lie between a duration and ten times of it: each is 12 % wide.
const perDecade = 20

// Histogram counts durations by their logarithm. It takes the same memory however many there are, and what several processes have
// counted can be added up. The zero value is empty.
type Histogram struct {
	First  int      `json:"first"`  // bucket of Counts[0]
	Counts []uint64 `json:"counts"` // of the buckets from First on
}

// HistogramOf counts durations.
func HistogramOf(d []time.Duration) (h Histogram) {
	for _, x := range d {
		h.Add(x)
	}
	return h
}

// Add counts one more; what is below a microsecond counts as one.
func (h *Histogram) Add(d time.Duration) {
	h.add(int(math.Floor(math.Log10(max(1, float64(d)/float64(time.Microsecond)))*perDecade)), 1)
}

func (h *Histogram) add(bucket int, n uint64) {
	switch {
	case len(h.Counts) == 0:
		h.First, h.Counts = bucket, []uint64{0}
	case bucket < h.First:
		h.Counts = slices.Concat(make([]uint64, h.First-bucket), h.Counts)
		h.First = bucket
	case bucket >= h.First+len(h.Counts):
		h.Counts = append(h.Counts, make([]uint64, bucket-h.First-len(h.Counts)+1)...)
	}
	h.Counts[bucket-h.First] += n
}

// Merge adds what another one has counted.
func (h *Histogram) Merge(o Histogram) {
	for i, n := range o.Counts {
		if n > 0 {
			h.add(o.First+i, n)
		}
	}
}

// N is how many were counted.
func (h Histogram) N() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Bounds are the ends of bucket i of Counts.
func (h Histogram) Bounds(i int) (from, to time.Duration) {
	at := func(b int) time.Duration {
		return time.Duration(math.Pow(10, float64(b)/perDecade) * float64(time.Microsecond))
	}
	return at(h.First + i), at(h.First + i + 1)
}

// Quantile is about the q-quantile: the middle of its bucket.
func (h Histogram) Quantile(q float64) time.Duration {
	rank, seen := uint64(q*float64(h.N())), uint64(0)
	for i, c := range h.Counts {
		if seen += c; seen > rank || i == len(h.Counts)-1 {
			from, to := h.Bounds(i)
			return time.Duration(math.Sqrt(float64(from) * float64(to)))
		}
	}
	return 0
}
