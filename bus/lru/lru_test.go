package lru_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus/lru"
)

// TestAgainstAList drives a cache and a plain list side by side.
func TestAgainstAList(t *testing.T) {
	type entry struct{ key, value, bytes int }
	rapid.Check(t, func(t *rapid.T) {
		l := lru.Limits{Entries: rapid.IntRange(0, 5).Draw(t, "entries"), Bytes: rapid.IntRange(0, 50).Draw(t, "bytes")}
		c := lru.New[int, int](l)
		var list []entry // newest first
		sum := func() (n int) {
			for _, e := range list {
				n += e.bytes
			}
			return n
		}
		take := func(key int) (e entry, ok bool) {
			at := slices.IndexFunc(list, func(e entry) bool { return e.key == key })
			if at < 0 {
				return entry{}, false
			}
			e = list[at]
			list = slices.Delete(list, at, at+1)
			return e, true
		}
		key := rapid.IntRange(0, 7)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				e := entry{key.Draw(t, "key"), rapid.Int().Draw(t, "value"), rapid.IntRange(0, 60).Draw(t, "size")}
				c.Put(e.key, e.value, e.bytes)
				take(e.key)
				list = slices.Insert(list, 0, e)
				for len(list) > 1 && (len(list) > l.Entries || sum() > l.Bytes) {
					list = list[:len(list)-1]
				}
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "key")
				v, ok := c.Get(k)
				e, there := take(k)
				if there {
					list = slices.Insert(list, 0, e)
				}
				if ok != there || v != e.value {
					t.Fatalf("%d is %d, %t, not %d, %t", k, v, ok, e.value, there)
				}
			},
			"peek": func(t *rapid.T) {
				k := key.Draw(t, "key")
				v, ok := c.Peek(k)
				at := slices.IndexFunc(list, func(e entry) bool { return e.key == k })
				if ok != (at >= 0) || ok && v != list[at].value {
					t.Fatalf("%d is %d, %t: %v", k, v, ok, list)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				c.Delete(k)
				take(k)
			},
			"": func(t *rapid.T) {
				if c.Len() != len(list) || c.Bytes() != sum() {
					t.Fatalf("%d entries of %d bytes, not %d of %d", c.Len(), c.Bytes(), len(list), sum())
				}
			},
		})
	})
}
