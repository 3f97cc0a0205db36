package telegram

import "sync"

// recent remembers the newest entries of a map: the oldest goes when it is full.
type recent[K comparable, V any] struct {
	mu    sync.Mutex
	max   int
	items map[K]V
	order []K // keys of items, oldest first
}

func newRecent[K comparable, V any](n int) *recent[K, V] {
	return &recent[K, V]{max: n, items: map[K]V{}}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.items[k]
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.items[k]; !ok {
		if len(r.order) >= r.max {
			delete(r.items, r.order[0])
			r.order = append(r.order[:0], r.order[1:]...)
		}
		r.order = append(r.order, k)
	}
	r.items[k] = v
}
