package suggest

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"listen", "max_bytes", "sync"}
	for in, want := range map[string]string{
		"lsiten": "listen", "Listen": "listen", "maxbytes": "max_bytes", "snyc": "sync", "zzz": "", "": "",
	} {
		if got := Nearest(in, known); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestHint(t *testing.T) {
	if got := Hint("zzz", []string{"a", "b"}); got != "known here: a, b" {
		t.Error(got)
	}
	if got := Hint("zzz", nil); got != "" {
		t.Error(got)
	}
}
