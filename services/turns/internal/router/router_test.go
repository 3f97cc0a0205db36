package router_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

func TestTheNextModelIsAsked(t *testing.T) {
	for _, c := range []struct {
		class  model.Class
		passed bool
	}{
		{model.Passing, true},
		{model.Denied, true},
		{model.Missing, true},
		{model.Garbage, true},
		{model.Invalid, true},
		{model.Filtered, false},
		{model.Overflow, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.models.add("a/one", fails(c.class, 0))
			b.models.add("b/two", says("hello"))
			got, shown, err, _ := b.ask("a/one", "b/two").all()
			if c.passed {
				if err != nil || got.Model != "b/two" || got.Answer.Text != "hello" || shown != "hello" || tries(got) != "a/one: detail of "+string(c.class) {
					t.Errorf("%s: got %+v, %v", c.class, got, err)
				}
				return
			}
			if err == nil || err.Class != c.class || got.Model != "a/one" || err.Text != "It is "+string(c.class)+"." {
				t.Errorf("%s: got %+v, %v", c.class, got, err)
			}
		})
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.models.add("a/one", func(_ context.Context, onDelta func(string)) (model.Answer, error) {
			onDelta("Hel")
			return fails(model.Garbage, 0)(nil, nil)
		})
		two := b.models.add("b/two", says("hello"))
		got, shown, err, _ := b.ask("a/one", "b/two").all()
		if err == nil || err.Class != model.Garbage || shown != "Hel" || two.asked > 0 || got.Model != "a/one" {
			t.Errorf("got %+v, %q, %v", got, shown, err)
		}
	})
}

func TestAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.models.add("a/one", fails(model.Denied, 0)).endpoint = "https://a"
		b.models.add("a/two", says("the provider is on hold by now")).endpoint = "https://a"
		b.models.add("c/three", func(context.Context, func(string)) (model.Answer, error) { panic("oh") })
		b.models.add("d/four", func(context.Context, func(string)) (model.Answer, error) { return model.Answer{}, errors.New("odd") })
		got, _, err, _ := b.ask("a/one", "a/two", "c/three", "a/one", "d/four", "e/five").all()
		until := time.Now().Add(5 * time.Minute).UTC().Format("15:04:05 UTC")
		want := "It is denied. (a/one; a/two is on hold until " + until + "; c/three failed too; d/four failed too; e/five failed too.)"
		if err == nil || err.Text != want || err.Detail != "odd" || got.Model != "d/four" {
			t.Errorf("got %+v, %#v, want %q", got, err, want)
		}
		want = "a/one: detail of denied, a/two: on hold until " + until + " (denied), c/three: panic: oh, e/five: not in the catalog"
		if tries(got) != want {
			t.Errorf("tried %s, want %s", tries(got), want)
		}
		if !strings.Contains(b.log.String(), "router_test.go") {
			t.Errorf("the log has no stack: %s", b.log)
		}
	})
}

func TestAModelThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if got, _, err, _ := b.ask("x/y").all(); err == nil || err.Text != "there is no model x/y" || got.Model != "" {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, _, err, _ := b.ask().all(); err == nil || err.Text != "No model is configured." {
			t.Errorf("got %v", err)
		}
		b.models.add("a/one", says("hello"))
		if got, _, err, _ := b.ask("x/y", "a/one").all(); err != nil || got.Model != "a/one" || tries(got) != "x/y: not in the catalog" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestAHangLeavesTimeForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.models.add("a/one", hangs)
		b.models.add("b/two", hangs)
		b.models.add("c/three", says("hello"))
		got, _, err, took := b.ask("a/one", "b/two", "c/three").all()
		if err != nil || got.Model != "c/three" || took != 45*time.Second || got.Tried[0].Cause != turnv1.TimedOut {
			t.Errorf("got %+v, %v after %s", got, err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the first byte stops the clock, the last model has all of the time
		b := newBench(t)
		slow := func(ctx context.Context, onDelta func(string)) (model.Answer, error) {
			onDelta("he")
			select {
			case <-ctx.Done():
				return model.Answer{}, ctx.Err()
			case <-time.After(50 * time.Second):
				return model.Answer{Text: "hello"}, nil
			}
		}
		b.models.add("a/one", slow)
		b.models.add("b/two", says("no"))
		if got, _, err, took := b.ask("a/one", "b/two").all(); err != nil || got.Model != "a/one" || took != 50*time.Second {
			t.Errorf("got %+v, %v after %s", got, err, took)
		}
		b.models.add("c/three", hangs)
		if got, _, _, took := b.ask("c/three").all(); got.Model != "c/three" || took != time.Minute {
			t.Errorf("got %+v after %s", got, took)
		}
	})
}

// The end of the context is told with its own cause, and a stop does not put a model on hold.
func TestTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.models.add("a/one", hangs)
		two := b.models.add("b/two", says("no"))
		stop := errors.New("stop")
		for range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(stop) })
			_, err := b.router.Generate(ctx, []string{"a/one", "b/two"}, func(provider.Model) model.Request { return model.Request{} }, func(string) {})
			if !errors.Is(err, stop) || two.asked > 0 {
				t.Errorf("got %v, the other was asked %d times", err, two.asked)
			}
			cancel(nil)
		}
		if b.store.writes > 0 {
			t.Error("a stop was remembered")
		}
		for range 2 {
			b.ask("a/one")
		}
		if b.store.writes != 2 {
			t.Errorf("two hangs were remembered %d times", b.store.writes)
		}
		b.models.add("c/three", func(ctx context.Context, onDelta func(string)) (model.Answer, error) {
			onDelta("a long answer")
			return hangs(ctx, onDelta)
		})
		for range 2 {
			b.ask("c/three", "b/two")
		}
		if b.store.writes != 2 || two.asked > 0 {
			t.Errorf("a long answer put the model on hold, or the next was asked: %d writes", b.store.writes)
		}
	})
}

func TestTheRequestIsForTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.models.add("a/one", fails(model.Garbage, 0))
		b.models.add("b/two", says("hello"))
		var names []string
		_, err := b.router.Generate(t.Context(), []string{"a/one", "b/two"}, func(m provider.Model) model.Request {
			names = append(names, m.Name())
			return model.Request{}
		}, func(string) {})
		if err != nil || !slices.Equal(names, []string{"a/one", "b/two"}) {
			t.Errorf("got %v, %v", names, err)
		}
	})
}
