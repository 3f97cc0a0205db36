package marker_test

import (
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

func TestMarkersAreFoundWhole(t *testing.T) {
	a, b := marker.New("k7", 1, 1), marker.New("k7", 1, 10)
	if got := marker.All("You said: " + b + " and " + a + "."); !slices.Equal(got, []string{b, a}) {
		t.Errorf("All = %q", got)
	}
	if got := marker.First("nothing of mk interest"); got != "" {
		t.Errorf("First = %q in a text without one", got)
	}
}
