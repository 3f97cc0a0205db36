package sink_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fake/sink"
)

func TestPushesAreRemembered(t *testing.T) {
	s, err := sink.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, body := range []string{`{"text":"You said: [a note]\nmk-a-0-1"}`, `{}`, `You said: mk-a-0-1`} {
		res, err := http.Post(s.URL(), "application/json", strings.NewReader(body))
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("%v, %v", res, err)
		}
		_ = res.Body.Close()
	}
	got := s.Pushes()
	if len(got) != 3 || s.Count() != 3 || s.Marked() != 1 || got[0].Marker != "mk-a-0-1" || got[1].Marker != "" {
		t.Errorf("pushes %+v", got)
	}
}
