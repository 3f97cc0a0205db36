package kill

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/judge"
)

func TestKillWithEverythingThatPeopleDo(t *testing.T) {
	code, out, _ := standin.Run(t, Command, killArgs("--mix", "all", "--sessions", "12", "--delay", "50ms-200ms", "--drain", "20s", "--json", "-")...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	c := r.Verdict.Counts
	if len(r.Verdict.Violations) != 0 || code != 0 {
		t.Fatalf("exit %d, %+v", code, r.Verdict.Violations)
	}
	if c.Steered == 0 || c.Fallbacks == 0 || c.Rounds < 3 || c.Events["session.compacted"] == 0 || c.Events["control.requested"] == 0 {
		t.Errorf("not all of it happened: %+v", c)
	}
	if r.Mix == nil || r.Mix.Model.Total.Summaries == 0 || r.Mix.Model.Models["flaky-3-0"].Refused == 0 || len(r.Mix.Roles) != 6 {
		t.Fatalf("mix %+v", r.Mix)
	}
	for _, role := range r.Mix.Roles {
		if role.Sessions == 0 || role.Alive != role.Sessions || role.Accepted == 0 || role.Completed+role.Cancelled != role.Accepted {
			t.Errorf("%+v", role)
		}
	}
}

func TestKillPrintsTheMix(t *testing.T) {
	code, out, _ := standin.Run(t, Command, killArgs("--mix", "all", "--kills", "1", "--sessions", "12", "--delay", "100ms-200ms", "--callback=false", "--drain", "20s")...)
	for _, want := range []string{"model calls answered by a fallback", "interrupt", "kills that met a stop pending", "sessions silent after all kills"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAMixThatDidNotHappenProvesNothing(t *testing.T) {
	whole := func() *mixReport {
		return &mixReport{
			Moments: judge.Moments{Compaction: 1, Stop: 1, Waiting: 1, Steered: 1, Rounds: 1}, Summaries: 1, Fallbacks: 1,
			claimed: 1, Model: fakemodel.Counts{Total: fakemodel.Count{Summaries: 1}},
		}
	}
	if err := whole().missing(); err != nil {
		t.Error(err)
	}
	if err := (*mixReport)(nil).missing(); err != nil {
		t.Error(err)
	}
	m := whole()
	m.Moments.Stop, m.Fallbacks = 0, 0
	if err := m.missing(); err == nil || !strings.Contains(err.Error(), "a fallback asked, nor a stop pending") {
		t.Errorf("%v", err)
	}
	m = whole()
	m.Model.Total.Summaries = 0
	if err := m.missing(); err == nil || !strings.Contains(err.Error(), "does not recognise") {
		t.Errorf("%v", err)
	}
	m = whole()
	m.silent = append(m.silent, "s")
	if v := m.violations(); len(v) != 1 || v[0].Kind != judge.Stuck {
		t.Errorf("%+v", v)
	}
}
