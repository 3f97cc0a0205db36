// Package lru keeps what was used last, within a number of entries and a number of bytes.
package lru

// Limits of a Cache. Both hold; the entry that was used last stays, however large it is.
type Limits struct {
	Entries int
	Bytes   int
}

// Cache is a map whose least recently used entries go when there are too many, or when they are too large together. What an
// entry takes is what Put is told. Not safe for concurrent use: who compares before it puts has a lock already.
type Cache[K comparable, V any] struct {
	limits Limits
	index  map[K]*entry[K, V]
	ends   entry[K, V] // of a ring: next is the newest, prev the oldest
	bytes  int         // of all entries
}

type entry[K comparable, V any] struct {
	prev, next *entry[K, V]
	key        K
	value      V
	bytes      int
}

// New makes an empty cache. Limits below one keep the newest entry only.
func New[K comparable, V any](l Limits) *Cache[K, V] {
	c := &Cache[K, V]{limits: l, index: make(map[K]*entry[K, V])}
	c.ends.prev, c.ends.next = &c.ends, &c.ends
	return c
}

// Get is the value of a key, which counts as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e, ok := c.index[key]
	if !ok {
		return value, false
	}
	e.unlink()
	c.first(e)
	return e.value, true
}

// Peek is the value of a key, which does not count as used: it leaves the order alone.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	e, ok := c.index[key]
	if !ok {
		return value, false
	}
	return e.value, true
}

// Put sets the value of a key, which counts as used, and drops what is too much.
func (c *Cache[K, V]) Put(key K, value V, bytes int) {
	e, ok := c.index[key]
	if ok {
		e.unlink()
	} else {
		e = &entry[K, V]{key: key}
		c.index[key] = e
	}
	c.bytes += bytes - e.bytes
	e.value, e.bytes = value, bytes
	c.first(e)
	for len(c.index) > 1 && (len(c.index) > c.limits.Entries || c.bytes > c.limits.Bytes) {
		c.drop(c.ends.prev)
	}
}

// Delete removes a key, if it is there.
func (c *Cache[K, V]) Delete(key K) {
	if e, ok := c.index[key]; ok {
		c.drop(e)
	}
}

// Len is the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.index) }

// Bytes is what all entries take.
func (c *Cache[K, V]) Bytes() int { return c.bytes }

func (c *Cache[K, V]) drop(e *entry[K, V]) {
	e.unlink()
	delete(c.index, e.key)
	c.bytes -= e.bytes
}

func (c *Cache[K, V]) first(e *entry[K, V]) {
	e.prev, e.next = &c.ends, c.ends.next
	e.prev.next, e.next.prev = e, e
}

func (e *entry[K, V]) unlink() { e.prev.next, e.next.prev = e.next, e.prev }
