package turns_test

import (
	"slices"
	"strings"
	"testing"
)

// kindsOfMisbehaviour are all that are played, of both protocols.
func kindsOfMisbehaviour(thief string) []kind {
	var all []kind
	for _, d := range []dialect{openAI, anthropic} {
		for _, k := range slices.Concat(transportKinds(d), statusKinds(d, thief), bodyKinds(d), cutKinds(d), textKinds(d), callKinds(d)) {
			k.api, k.api2 = d.api, string(d.api)
			all = append(all, k)
		}
	}
	for _, k := range slices.Concat(openAIKinds(), openAICallKinds()) {
		k.api = openAI.api
		all = append(all, k)
	}
	for _, k := range anthropicKinds() {
		k.api = anthropic.api
		all = append(all, k)
	}
	return all
}

// TestMisbehaviour plays a model that misbehaves in one way and then no more. Each way ends in a failure that is told, or
// in an answer; the next message is answered; no request is ever out of order, no call is made of half an answer, no key is
// shown.
func TestMisbehaviour(t *testing.T) {
	thief := newThief(t)
	kinds := kindsOfMisbehaviour(thief)
	names := map[string]bool{}
	for _, k := range kinds {
		names[k.name] = true
	}
	if len(names) < 60 {
		t.Errorf("%d kinds of misbehaviour are played, want at least 60", len(names))
	}
	s := newStage(t, kinds)
	for _, k := range kinds { // all at once: many of them take their time
		s.tell(t, s.talks[k.agent()], firstSaid, "k1")
	}
	for _, k := range kinds {
		t.Run(k.agent(), func(t *testing.T) { s.run(t, s.talks[k.agent()]) })
	}
	t.Logf("%d kinds, %d with both protocols", len(names), len(kinds))
}

func (s *stage) run(t *testing.T, k *talk) {
	w := k.kind.want
	w.check(t, s.outcome(t, k, "k1"))
	asked, _, _ := k.seen()
	if w.asks > 0 && len(asked) != w.asks {
		t.Errorf("%d requests, want %d", len(asked), w.asks)
	}
	if w.gap > 0 && (len(asked) < 2 || asked[1].Sub(asked[0]) < w.gap) {
		t.Errorf("asked at %v, want %s between", asked, w.gap)
	}
	s.tell(t, k, nextSaid, "k2")
	next := s.outcome(t, k, "k2")
	after, bodies, problems := k.seen()
	for _, err := range problems {
		t.Error(err)
	}
	switch {
	case w.stuck:
		w.check(t, next)
		return
	case w.held != "":
		want{cause: "model_unavailable", says: w.held}.check(t, next)
		if len(after) != len(asked) {
			t.Errorf("%d requests to a provider that wants to be left alone", len(after)-len(asked))
		}
		return
	}
	want{text: better}.check(t, next)
	if last := bodies[len(bodies)-1]; !w.long && !strings.Contains(last, firstSaid) || !strings.Contains(last, nextSaid) {
		t.Errorf("the last request does not tell what was said: %.3000s", last)
	}
}
