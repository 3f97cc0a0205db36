package bustest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/jetclaw/jetclaw/bus"
)

// CheckPermissions starts a server for specs and tries every (user, subject) pair over the union of all subjects, for
// publish and for subscribe. The server must take exactly what the Spec of the user says, and refuse everything else.
// What a Spec allows is written down a second time in matrix.go, not taken from bus.PermissionsOf.
func CheckPermissions(t *testing.T, specs []bus.Spec) {
	t.Helper()
	s := New(t, specs...)
	pubs, subs := publishRules(specs), subscribeRules(specs)
	t.Logf("%d users, %d subjects to publish, %d to subscribe", len(specs), len(pubs), len(subs))
	for _, sp := range specs {
		t.Run(sp.Name, func(t *testing.T) {
			refused := s.try(t, sp.Name, pubs, subs)
			for _, r := range pubs {
				compare(t, sp, "publish", r, refused["Publish to "+r.subject])
			}
			for _, r := range subs {
				compare(t, sp, "subscribe", r, refused["Subscription to "+r.subject])
			}
		})
	}
}

// rule says who may use a subject.
type rule struct {
	subject string
	who     func(bus.Spec) bool
}

func compare(t *testing.T, sp bus.Spec, verb string, r rule, refused bool) {
	t.Helper()
	switch may := r.who(sp); {
	case may && refused:
		t.Errorf("%s was refused: %s %s", sp.Name, verb, r.subject)
	case !may && !refused:
		t.Errorf("%s was not refused: %s %s", sp.Name, verb, r.subject)
	}
}

var violation = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]+)"`)

// try does everything as one user and returns what the server refused, as "Publish to <subject>". The server answers a
// connection in order: once the refusal of the last subject, which nobody may use, is seen, all others have been.
func (s *Server) try(t *testing.T, user string, pubs, subs []rule) map[string]bool {
	t.Helper()
	const last = "nobody.may"
	refused := map[string]bool{}
	done := make(chan struct{})
	kp, err := nkeys.FromSeed(s.Seed(user))
	if err != nil {
		t.Fatal(err)
	}
	public, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Nkey(public, kp.Sign),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // one call after the other
			m := violation.FindStringSubmatch(err.Error())
			if m == nil {
				return
			}
			refused[strings.ToUpper(m[1][:1])+strings.ToLower(m[1][1:])+" to "+m[2]] = true
			if m[2] == last {
				close(done)
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, r := range subs {
		if _, err := nc.SubscribeSync(r.subject); err != nil {
			t.Fatalf("%s: %v", r.subject, err)
		}
	}
	for _, r := range append(slices.Clone(pubs), rule{subject: last}) {
		if err := nc.Publish(r.subject, nil); err != nil {
			t.Fatalf("%s: %v", r.subject, err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-t.Context().Done():
		t.Fatal("the server refused nothing")
	}
	return refused
}
