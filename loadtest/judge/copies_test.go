package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestCopiesThatDifferAreFound(t *testing.T) {
	j := newScript().whole("a1").whole("a2").evidence.Journal
	if d := judge.Differences(j, slices.Clone(j)); len(d) != 0 {
		t.Errorf("%q", d)
	}
	short := slices.Clone(j)[:len(j)-1]
	if d := judge.Differences(j, short); len(d) != 1 || !strings.Contains(d[0], "the copy has 9 events, and the journal 10") {
		t.Errorf("%q", d)
	}
	other := slices.Clone(j)
	other[0].Body = messagev1.Received{Text: "something else"}
	other[1].ID = "other"
	if d := judge.Differences(j, other); len(d) != 2 {
		t.Errorf("%q", d)
	}
	if d := judge.Differences(j, j[1:]); len(d) != 5 {
		t.Errorf("%q", d)
	}
}
