package sizes

import (
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// linear is a result of homes in which everything grows by the line.
func linear() result.Result {
	r := report{Messages: 5, Deep: &sized{Sessions: 100, Turns: 2000, Snapshots: 1_400_000, Subjects: 600}}
	for _, n := range []int{1000, 10_000, 50_000} {
		r.Sizes = append(r.Sizes, sized{
			Sessions: n, Turns: 5 * n, Events: uint64(20 * n), Subjects: uint64(4 * n), Streams: 8, Consumers: 12,
			Journal: int64(5 * n * 2600), Index: int64(5 * n * 1300), Ready: 150*time.Millisecond + time.Duration(n)*10*time.Microsecond,
			RSS: int64(60e6 + 5000*float64(n)), Floor: floor.Opened{Took: time.Duration(n) * 9 * time.Microsecond, RSS: int64(26e6 + 4000*float64(n))},
		})
	}
	r.finish()
	res := result.Result{Options: map[string]string{"sizes": "1000,10000,50000"}, Took: 3 * time.Minute}
	r.Fill(&res)
	return res
}

// The paper is made of figures that the scenario has.
func TestThePaperHasEveryFigure(t *testing.T) {
	got := Paper(linear())
	for _, part := range []string{
		"| 100,000 | 8 | 12 | 560 MB | 15.6 GB | 7.80 GB | 1.40 GB | 1.00 s |",
		"| 10,000,000 | 8 | 12 | 50.1 GB |",
		"8 GB of memory are full at about 1,600,000 sessions",
		"homes of 1000, 10000, 50000 sessions",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}
