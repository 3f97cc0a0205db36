package exchange

import (
	"context"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// Filling is what sessions are given before anything is measured.
type Filling struct {
	Run      string
	Sessions []string
	Each     int // messages of a session
	Parallel int
	Text     string // behind the marker
}

// Fill sends them, each when the one before has its answer; the first that goes wrong ends it.
func (f Filling) Fill(ctx context.Context, cl *client.Client) error {
	return pace.Crews(ctx, len(f.Sessions), f.Parallel, func(ctx context.Context, i int) error { return f.session(ctx, cl, i) })
}

func (f Filling) session(ctx context.Context, cl *client.Client, i int) error {
	for n := range f.Each {
		m := marker.New(f.Run, i, n)
		if err := One(ctx, cl, client.Message{Session: f.Sessions[i], Text: m + " " + f.Text, Key: m}, m); err != nil {
			return err
		}
	}
	return nil
}

// Names of n sessions.
func Names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = prefix + "-" + strconv.Itoa(i)
	}
	return out
}

// HistoryText is a text of about n bytes, as people write.
func HistoryText(n int) string {
	const words = "the quick brown fox jumps over the lazy dog and then goes home to write about it "
	return strings.Repeat(words, n/len(words)+1)[:max(1, n)]
}

// FillParallel is how many sessions are filled at the same time, as a rule.
const FillParallel = 64
