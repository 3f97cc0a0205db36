package telegram

import "testing"

func TestRecent(t *testing.T) {
	r := newRecent[int, string](3)
	for k := range 10 {
		r.put(k, "old")
		r.put(k, "new")
	}
	for k := range 10 {
		if v, ok := r.get(k); ok != (k > 6) || ok && v != "new" {
			t.Errorf("%d: %q, %t", k, v, ok)
		}
	}
	if len(r.items) != 3 || len(r.order) != 3 {
		t.Errorf("%d items, %d keys", len(r.items), len(r.order))
	}
}
