package telegram

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
)

func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := faketelegram.New(faketelegram.Options{})
		defer fake.Close()
		p, err := people.New(fake, "t1", 3, 4, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		got := trouble(ctx, fake, p.Rooms, rand.New(rand.NewPCG(1, 2)))
		polls := 0
		for name, n := range got {
			if strings.HasPrefix(name, "poll") {
				polls += n
			}
		}
		if got[conflict] > conflicts || polls > int(5*time.Minute/pollGap)+1 || polls < 10 || got["file: 502"] == 0 {
			t.Errorf("%v", got)
		}
		sends := 0
		for name, n := range got {
			if strings.HasPrefix(name, "send") {
				sends += n
			}
		}
		if sends != 1 {
			t.Errorf("%d troubles of sends, and nothing was sent: %v", sends, got)
		}
	})
}

func TestTheConfigurationHasTheBot(t *testing.T) {
	h, err := daemon.NewHome(filepath.Join(t.TempDir(), "h"), daemon.Config{
		Sync: "always", Listen: "127.0.0.1:1", ModelURL: "http://127.0.0.1:2/v1",
		Telegram: &daemon.Telegram{Token: "1:secret", APIRoot: "http://127.0.0.1:3", Groups: []int64{-100, -200}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(h.Dir, "jetclaw.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `channels:
  http:
    listen: "127.0.0.1:1"
  telegram:
    bot:
      token: "env:LOADTEST_TELEGRAM_TOKEN"
      access: open
      api_root: "http://127.0.0.1:3"
      streaming: "off"
      groups:
        "-100": {require_mention: false}
        "-200": {require_mention: false}
bus: {sync: always}
`
	if !strings.HasSuffix(string(b), want) {
		t.Errorf("%s", b)
	}
}

func TestTelegramReport(t *testing.T) {
	r := report{Updates: enoughUpdates, Faults: map[string]int{"send: 500": 2}, Counts: chat.Counts{Stale: 1, Split: 1, Unknown: 1}}
	r.stuck("it hangs")
	r.finish(chat.Evidence{})
	var b strings.Builder
	r.Print(console.Printer{Out: &b})
	for _, want := range []string{"2× send: 500", "as the daemon died", "came in pieces", "limits exceeded", "≤ 1 unknown"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %s", want, b.String())
		}
	}
	if !reflect.DeepEqual(r.Goals[3], result.Goal("stuck", "0", "1", false).As("telegram.stuck").In("", 1)) {
		t.Errorf("%+v", r.Goals)
	}
	if err := r.missing(); err == nil || !strings.Contains(err.Error(), "no edits in time, nor albums") {
		t.Errorf("%v", err)
	}
	r.Updates--
	if err := r.missing(); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	if k := r.Story(); k.Verdict.Of(judge.Stuck) != 1 {
		t.Errorf("%+v", k)
	}
}

func TestRateReport(t *testing.T) {
	r := rateReport{Updates: 5000, Chats: 200, Sync: "interval"}
	for _, n := range []float64{900, 1500, 1200} {
		x := rateRound{PerSecond: n}
		x.Floor.PerSecond = 2 * n
		r.Rounds = append(r.Rounds, x)
	}
	r.Rounds[2].Shown = time.Minute
	r.finish()
	if r.PerSecond != stat.Median([]float64{900, 1500, 1200}) || r.Ratio != 0.5 || r.Shown != time.Minute || !r.Goals[0].Met {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	r.Print(console.Printer{Out: &b})
	if !strings.Contains(b.String(), "intake / floor: 0.50") {
		t.Errorf("%s", b.String())
	}
}
