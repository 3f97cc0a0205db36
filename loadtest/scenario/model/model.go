// Package model serves the fake model to whoever wants to try jetclaw without a provider.
package model

import (
	"context"
	"math/rand/v2"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
)

// Command serves the fake model until it is interrupted.
func Command(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("fakemodel")
	listen := fs.String("listen", "127.0.0.1:0", "address; port 0 is any free one")
	delay := fs.String("delay", "0", "of each answer: 200ms, or a range such as 0-500ms")
	fail := fs.String("fail", "", "shares of requests that fail, as in 503:0.05,429+2:0.05,cut:0.02,garbage:0.01,slow:0.01,silence:0.01;\n"+
		"of one model: flaky*/503:1")
	seed := fs.Uint64("seed", 0, "of delays and failures; 0: random")
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	d, err := fakemodel.ParseDelay(*delay)
	if err != nil {
		return console.Usage(err)
	}
	plan, err := fakemodel.ParsePlan(*fail, *seed)
	if err != nil {
		return console.Usage(err)
	}
	s, err := fakemodel.Start(*listen, fakemodel.Options{Delay: d, Fail: plan, Seed: *seed})
	if err != nil {
		return err
	}
	defer s.Close()
	p.Say("export OPENAI_BASE_URL=%s OPENAI_API_KEY=none OPENAI_MODEL=echo", s.URL())
	p.Say("export ANTHROPIC_BASE_URL=%s ANTHROPIC_API_KEY=none ANTHROPIC_MODEL=echo", s.Root())
	p.Note("a model that repeats what it is told, delay %s; what it has reported is at %s/counts; Ctrl-C ends it", d, s.Root())
	<-ctx.Done()
	c := s.Counts().Total
	p.Note("%d requests, %d answered, %d refused; %d tokens in, %d out", s.Total(), c.Answered, c.Refused, c.Input, c.Output)
	return nil
}
