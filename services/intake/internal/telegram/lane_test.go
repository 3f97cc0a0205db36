package telegram

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
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
func collect(t *testing.T, more func() bool, add func(l *lanes)) []string {
	t.Helper()
	var got []string
	synctest.Test(t, func(*testing.T) {
		l := lanes{wait: time.Second, more: more, handle: func(_ context.Context, items []*item) bool {
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

func TestAlbumsGather(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		add  func(l *lanes)
		want []string
	}{
		{"at once", func(l *lanes) {
			for i := range int64(4) {
				l.add(ctx, inChat(i+1, 7, "a"))
			}
		}, []string{"[1 2 3 4]"}},
		{"one after the other", func(l *lanes) {
			for i := range int64(4) {
				l.add(ctx, inChat(i+1, 7, "a"))
				time.Sleep(900 * time.Millisecond)
			}
		}, []string{"[1 2 3 4]"}},
		{"too late", func(l *lanes) {
			l.add(ctx, inChat(1, 7, "a"))
			time.Sleep(1100 * time.Millisecond)
			l.add(ctx, inChat(2, 7, "a"))
		}, []string{"[1]", "[2]"}},
		{"something else behind ends it at once", func(l *lanes) {
			l.add(ctx, inChat(1, 7, "a"))
			l.add(ctx, inChat(2, 7, "a"))
			l.add(ctx, inChat(3, 7, ""))
			time.Sleep(time.Millisecond)
			l.add(ctx, inChat(4, 7, "a"))
		}, []string{"[1 2]", "[3]", "[4]"}},
		{"two albums", func(l *lanes) {
			l.add(ctx, inChat(1, 7, "a"))
			l.add(ctx, inChat(2, 7, "b"))
			l.add(ctx, inChat(3, 7, "b"))
		}, []string{"[1]", "[2 3]"}},
	} {
		if got := collect(t, nil, tc.add); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	// While the server has more than one answer holds, the rest of an album may be in the next.
	var over atomic.Bool
	got := collect(t, func() bool { return !over.Load() }, func(l *lanes) {
		l.add(ctx, inChat(1, 7, "a"))
		time.Sleep(2500 * time.Millisecond)
		over.Store(true)
		l.add(ctx, inChat(2, 7, "a"))
	})
	if !slices.Equal(got, []string{"[1 2]"}) {
		t.Errorf("at the end of an answer: %v", got)
	}
	got = collect(t, func() bool { return true }, func(l *lanes) { l.add(ctx, inChat(1, 7, "a")) })
	if !slices.Equal(got, []string{"[1]"}) {
		t.Errorf("it does not wait for ever: %v", got)
	}
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
		mixed := slices.Clone(letters)
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
		l := lanes{wait: time.Hour, handle: func(ctx context.Context, items []*item) bool {
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
