package telegram

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

func inChat(id, chat int64, group string) *item {
	return &item{id: id, update: botapi.Update{ID: id, Message: &botapi.Message{ID: id, Chat: botapi.Chat{ID: chat}, MediaGroup: group}}}
}

// Updates of a chat are handled in order and never two at a time, whatever each takes; chats do not wait for each other.
func TestLanesKeepOrder(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		type plan struct {
			chat int64
			took time.Duration
		}
		plans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan {
			return plan{rapid.Int64Range(1, 4).Draw(t, "chat"), time.Duration(rapid.IntRange(0, 50).Draw(t, "took")) * time.Millisecond}
		}), 1, 60).Draw(t, "updates")
		synctest.Test(tt, func(*testing.T) {
			var mu sync.Mutex
			order, busy, longest := map[int64][]int64{}, map[int64]bool{}, map[int64]time.Duration{}
			l := lanes{handle: func(_ context.Context, items []*item) bool {
				it := items[0]
				chat := it.chat()
				mu.Lock()
				if busy[chat] {
					t.Errorf("two at a time in chat %d", chat)
				}
				busy[chat] = true
				order[chat] = append(order[chat], it.id)
				mu.Unlock()
				time.Sleep(plans[it.id].took)
				mu.Lock()
				busy[chat] = false
				mu.Unlock()
				return true
			}}
			began := time.Now()
			for i, p := range plans {
				longest[p.chat] += p.took
				l.add(context.Background(), inChat(int64(i), p.chat, ""))
			}
			l.close()
			var most time.Duration
			for chat, ids := range order {
				if !slices.IsSorted(ids) {
					t.Errorf("chat %d: %v", chat, ids)
				}
				most = max(most, longest[chat])
			}
			if took := time.Since(began); took != most {
				t.Errorf("it took %v, the longest lane %v", took, most)
			}
			if l.size() != 0 || len(l.byChat) != 0 {
				t.Errorf("%d updates and %d lanes are left", l.size(), len(l.byChat))
			}
		})
	})
}

// collect runs lanes over what add does, and tells which updates came together.
func collect(t *testing.T, add func(l *lanes)) []string {
	t.Helper()
	var got []string
	synctest.Test(t, func(*testing.T) {
		l := lanes{quiet: time.Second, handle: func(_ context.Context, items []*item) bool {
			ids := make([]int64, len(items))
			for i, it := range items {
				ids[i] = it.id
			}
			got = append(got, fmt.Sprint(ids))
			return true
		}}
		add(&l)
		l.close()
	})
	return got
}

// polls has lanes hear of a poll that is answered at once: with these updates, and with those of others.
func polls(l *lanes, full bool, others []int64, items ...*item) {
	a := &polled{began: time.Now(), at: time.Now(), full: full, ids: others}
	for _, it := range items {
		a.ids = append(slices.Clip(a.ids), it.id)
		if it.came == nil {
			it.came = a
			l.add(context.Background(), it)
		}
	}
	l.heard(a)
	synctest.Wait()
}

func TestAlbumsGather(t *testing.T) {
	const step = 600 * time.Millisecond // from one poll to the next
	many := []int64{31, 32, 33, 34, 35, 36, 37, 38, 39, 40}
	part := func(id int64) *item { return inChat(id, 7, "a") }
	for _, tc := range []struct {
		name string
		add  func(l *lanes)
		want string
		took time.Duration
	}{
		{"at once", func(l *lanes) {
			items := []*item{part(1), part(2), part(3)}
			for range 3 {
				polls(l, false, nil, items...)
				time.Sleep(step)
			}
		}, "[[1 2 3]]", 2 * step},
		{"in two answers", func(l *lanes) {
			one, two := part(1), part(2)
			polls(l, false, nil, one)
			time.Sleep(step)
			polls(l, false, nil, one)
			time.Sleep(step - 1)
			polls(l, false, nil, one, two) // 1.2 s after the first: the poll before was too early to tell
			for range 2 {
				time.Sleep(step)
				polls(l, false, nil, one, two)
			}
		}, "[[1 2]]", 4*step - 1},
		{"too late", func(l *lanes) {
			one, two := part(1), part(2)
			for range 3 {
				polls(l, false, nil, one)
				time.Sleep(step)
			}
			for range 3 {
				polls(l, false, nil, two)
				time.Sleep(step)
			}
		}, "[[1] [2]]", 5 * step},
		{"something else behind ends it at once", func(l *lanes) {
			polls(l, false, nil, part(1), part(2), inChat(3, 7, ""))
		}, "[[1 2] [3]]", 0},
		{"two albums", func(l *lanes) {
			two, three := inChat(2, 7, "b"), inChat(3, 7, "b")
			one := part(1)
			for range 3 {
				polls(l, false, nil, one, two, three)
				time.Sleep(step)
			}
		}, "[[1] [2 3]]", 2 * step},
		{"many others behind, where many wait", func(l *lanes) { polls(l, true, many, part(1), part(2)) }, "[[1 2]]", 0},
		{"many others behind, in the next answer", func(l *lanes) {
			one := part(1)
			polls(l, true, nil, one)
			polls(l, true, many, one, part(2))
		}, "[[1 2]]", 0},
		{"many others behind, where nothing waits", func(l *lanes) {
			one := part(1)
			polls(l, false, many, one)
			time.Sleep(step)
			polls(l, false, many, one, part(2))
			time.Sleep(2 * step)
			polls(l, false, many, one)
		}, "[[1 2]]", 3 * step},
		{"nine others behind", func(l *lanes) {
			one := part(1)
			polls(l, true, many[1:], one)
			time.Sleep(3 * step)
			polls(l, true, many[1:], one) // the tenth may be the next part
			polls(l, false, many[1:], one)
		}, "[[1]]", 3 * step},
		{"a full answer that ends with it tells nothing", func(l *lanes) {
			one := part(1)
			for range 3 {
				polls(l, true, []int64{0}, one)
				time.Sleep(step)
			}
			polls(l, true, []int64{0}, one, part(2))
			time.Sleep(2 * step)
			polls(l, false, []int64{0, 9}, one)
		}, "[[1 2]]", 5 * step},
		{"an answer that is cut before it tells nothing", func(l *lanes) {
			two := part(2)
			polls(l, false, []int64{1}, two)
			time.Sleep(2 * step)
			polls(l, false, []int64{1})
			time.Sleep(step)
			polls(l, false, nil, two, part(3))
			time.Sleep(2 * step)
			polls(l, false, nil)
		}, "[[2 3]]", 5 * step},
		{"no answers", func(l *lanes) { polls(l, false, nil, part(1), part(2)) }, "[[1 2]]", 5 * time.Second},
	} {
		var took time.Duration
		got := collect(t, func(l *lanes) {
			began, handle := time.Now(), l.handle
			l.handle = func(ctx context.Context, items []*item) bool {
				took = time.Since(began)
				return handle(ctx, items)
			}
			tc.add(l)
			l.work.Wait()
		})
		if fmt.Sprint(got) != tc.want || took != tc.took {
			t.Errorf("%s: %v after %v, want %v after %v", tc.name, got, took, tc.want, tc.took)
		}
	}
}

// Messages that come less than a second apart are one album, however the polls fall and however many of others are between them.
func TestAlbumsAreWhole(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		ms := func(from, to int, name string) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Millisecond
		}
		type arrival struct {
			at time.Duration
			it *item
		}
		var queue []arrival // at the server
		at, id, parts := time.Duration(0), int64(1), 0
		for range rapid.IntRange(1, 10).Draw(t, "parts") {
			at += ms(0, 999, "gap")
			for range rapid.IntRange(0, 3).Draw(t, "others") {
				queue = append(queue, arrival{at, inChat(id, 100+id, "")})
				id++
			}
			queue = append(queue, arrival{at, inChat(id, 7, "a")})
			id++
			parts++
		}
		limit, steps := rapid.IntRange(20, 60).Draw(t, "limit"), ms(600, 1500, "step")
		synctest.Test(tt, func(*testing.T) {
			var mu sync.Mutex
			var albums []int
			done := map[int64]bool{}
			l := lanes{quiet: time.Second, handle: func(_ context.Context, items []*item) bool {
				mu.Lock()
				defer mu.Unlock()
				if items[0].chat() == 7 {
					albums = append(albums, len(items))
				}
				for _, it := range items {
					done[it.id] = true
				}
				return true
			}}
			began := time.Now()
			for len(albums) == 0 {
				var items []*item
				for _, q := range queue {
					if q.at <= time.Since(began) && !done[q.it.id] && len(items) < limit {
						items = append(items, q.it)
					}
				}
				polls(&l, len(items) == limit, nil, items...)
				time.Sleep(steps)
				synctest.Wait()
			}
			l.close()
			if len(albums) != 1 || albums[0] != parts {
				tt.Errorf("%d messages came as %v", parts, albums)
			}
		})
	})
}

// The album is the same in whatever order its messages come.
func TestTogether(t *testing.T) {
	var letters []letter
	for i, text := range []string{"one", "", "three"} {
		l := read(botapi.Update{ID: int64(i), Message: &botapi.Message{
			ID: int64(i + 11), Chat: botapi.Chat{ID: 1001, Type: private}, From: &botapi.User{ID: 1001}, Caption: text,
			Photo: []botapi.PhotoSize{{FileID: fmt.Sprint("f", i)}},
		}}, us)
		letters = append(letters, l)
	}
	for range 20 {
		mixed := append(slices.Clone(letters), letters[rand.IntN(len(letters))]) // one came twice
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		all := together(mixed)
		var ids []string
		for _, a := range all.media {
			ids = append(ids, a.id)
		}
		if all.key != "11" || all.request.Native != "11" || all.request.Text != "one\nthree" || !slices.Equal(ids, []string{"f0", "f1", "f2"}) {
			t.Fatalf("%s %s %q %v", all.key, all.request.Native, all.request.Text, ids)
		}
	}
}

// A lane that is stopped in the middle does not say that it was done, and takes nothing more.
func TestLanesStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var handled []int64
		l := lanes{quiet: time.Hour, handle: func(ctx context.Context, items []*item) bool {
			handled = append(handled, items[0].id)
			<-ctx.Done()
			return false
		}}
		for i := range int64(3) {
			l.add(ctx, inChat(i, 7, ""))
		}
		l.add(ctx, inChat(9, 8, "album"))
		synctest.Wait()
		cancel()
		l.close()
		if !slices.Equal(handled, []int64{0}) {
			t.Errorf("handled %v", handled)
		}
		if l.add(ctx, inChat(10, 7, "")) {
			t.Error("closed lanes take more")
		}
	})
}
