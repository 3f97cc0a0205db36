package main

import (
	"context"
	"math/rand/v2"

	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
)

// modelCommand serves the fake model until it is interrupted.
func modelCommand(ctx context.Context, args []string, p printer) error {
	fs := p.flags("fakemodel")
	listen := fs.String("listen", "127.0.0.1:0", "address; port 0 is any free one")
	delay := fs.String("delay", "0", "of each answer: 200ms, or a range such as 0-500ms")
	fail := fs.String("fail", "", "shares of requests that fail, as in 503:0.05,cut:0.02,garbage:0.01,silence:0.01")
	seed := fs.Uint64("seed", 0, "of delays and failures; 0: random")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	d, err := fakemodel.ParseDelay(*delay)
	if err != nil {
		return usageError{err}
	}
	plan, err := fakemodel.ParsePlan(*fail, *seed)
	if err != nil {
		return usageError{err}
	}
	s, err := fakemodel.Start(*listen, fakemodel.Options{Delay: d, Fail: plan, Seed: *seed})
	if err != nil {
		return err
	}
	defer s.Close()
	p.say("export OPENAI_BASE_URL=%s OPENAI_API_KEY=none OPENAI_MODEL=echo", s.URL())
	p.note("an OpenAI-compatible model that repeats what it is told, delay %s; Ctrl-C ends it", d)
	<-ctx.Done()
	p.note("%d requests", s.Total())
	return nil
}
