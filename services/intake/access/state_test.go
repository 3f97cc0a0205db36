package access

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestApply(t *testing.T) {
	end := start.Add(CodeLife)
	s := fold(asked(eve, "EEEEEEEE", end), asked(fay, "FFFFFFFF", end))
	if r, ok := s.Request("eeeeeeee"); !ok || r.Who != who(eve) || r.Key != "k0" || !r.Since.Equal(start) {
		t.Errorf("%+v", r)
	}
	g := granted(eve)
	g.Name = "Eve"
	in := s.Apply(event(2, g))
	if p, ok := in.Approved("eEEEEEEE"); !ok || p.Name != "Eve" || p.Cursor != 12 || p.Owner || p.By != "local" || !in.Taken("EEEEEEEE") {
		t.Errorf("%+v", p)
	}
	if _, ok := in.Request("EEEEEEEE"); ok || len(in.Requests(start)) != 1 || len(s.Requests(start)) != 2 {
		t.Error("the request is open still, or the state before was changed")
	}
	g.Owner, g.Name = true, ""
	owner := in.Apply(event(3, g))
	if p, _ := owner.Person(door, who(eve)); !p.Owner || p.Name != "Eve" || p.Cursor != 12 || p.Code != "EEEEEEEE" {
		t.Errorf("%+v", p)
	}
	if p, _ := owner.Apply(event(4, granted(eve))).Person(door, who(eve)); !p.Owner {
		t.Error("an owner is none any more without having been sent away")
	}
	g.Door = second
	both := owner.Apply(event(4, g)).Apply(event(5, accessv1.Revoked{Door: door, Who: who(eve)}))
	if p, ok := both.Person(second, who(eve)); !ok || p.Owner {
		t.Errorf("sent away at one door: %+v %v; owners are identities", p, ok)
	}
	if both.Taken("EEEEEEEE") || !owner.Taken("EEEEEEEE") {
		t.Error("codes of people who were sent away")
	}
	if got := both.Apply(event(6, messagev1.Received{})); !reflect.DeepEqual(got, both) {
		t.Errorf("%+v", got)
	}
	// Expired requests go with the next event.
	if late := both.Apply(envelope.Event{Time: end, Body: accessv1.Moved{}}); late.requests != nil {
		t.Errorf("%+v", late.requests)
	}
}

func TestDamagedSnapshots(t *testing.T) {
	for _, in := range []string{"[]", `{"people":1}`, `{"moves":[{"from":-1,"to":-1}]}`, `{"moves":[{"from":-1,"to":-2},{"from":-2,"to":-1}]}`, `{"moves":[{"from":1,"to":-1}]}`} {
		var s State
		if err := json.Unmarshal([]byte(in), &s); err == nil || !reflect.DeepEqual(s, State{}) {
			t.Errorf("%s: %v, %+v", in, err, s)
		}
	}
}

// TestNobodySneaksIn drives random histories: whatever happens, a stranger is let in privately exactly when the last word
// about this person at this door was a Granted, and in a group only when it is listed; a snapshot goes on to the same state.
func TestNobodySneaksIn(t *testing.T) {
	doors := []accessv1.Door{door, second}
	users := []int64{1, 2, 3, 4, 5}
	chats := []int64{-1, -2, -3, -4}
	codes := []string{"AAAAAAAA", "BBBBBBBB", "CCCCCCCC", "DDDDDDDD"}
	type pair struct {
		door accessv1.Door
		who  string
	}
	rapid.Check(t, func(t *rapid.T) {
		var (
			s, old State
			now    = start
			n      int
			in     = map[pair]bool{}
			listed = Policy{Mode: Pairing, Groups: map[int64]Group{-1: {}}}
			became = map[accessv1.Door][]int64{} // what the listed group may have become
			edges  = map[accessv1.Door][][2]int64{}
		)
		drawn := func() pair {
			return pair{rapid.SampledFrom(doors).Draw(t, "door"), who(rapid.SampledFrom(users).Draw(t, "user"))}
		}
		apply := func(b envelope.Body) {
			n++
			old = s
			before, _ := json.Marshal(old)
			s = s.Apply(envelope.Event{Cursor: uint64(n), Key: "k", Time: now, Body: b})
			if after, _ := json.Marshal(old); !bytes.Equal(before, after) {
				t.Fatalf("Apply has changed the state before:\n%s\n%s", before, after)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
				for _, d := range doors {
					for _, u := range users {
						v := s.Judge(listed, Attempt{Door: d, Chat: u, ChatKind: "private", User: u, Code: "ZZZZZZZZ", Now: now})
						if (v.Kind == Allow) != in[pair{d, who(u)}] {
							t.Fatalf("%v %d: %+v", d, u, v)
						}
						for _, c := range chats {
							v := s.Judge(listed, Attempt{Door: d, Chat: c, ChatKind: "supergroup", User: u, Now: now})
							if v.Kind == Pair || v.Kind == Tell {
								t.Fatalf("asked in a group: %+v", v)
							}
							if want := c == -1 || slices.Contains(became[d], c); v.Kind == Allow && !want {
								t.Fatalf("group %d is let in: %+v", c, v)
							}
						}
					}
				}
				open := map[accessv1.Door]int{}
				for _, r := range s.Requests(now) {
					open[r.Door]++
				}
				for d, k := range open {
					if k > len(users) {
						t.Fatalf("%d requests at %v", k, d)
					}
				}
			},
			"attempt": func(t *rapid.T) { // as the shell does
				u, d := rapid.SampledFrom(users).Draw(t, "user"), rapid.SampledFrom(doors).Draw(t, "door")
				before := 0
				for _, r := range s.Requests(now) {
					if r.Door == d {
						before++
					}
				}
				v := s.Judge(listed, Attempt{Door: d, Chat: u, ChatKind: "private", User: u, Code: rapid.SampledFrom(codes).Draw(t, "code"), Now: now})
				if v.Kind == Pair {
					if before >= MaxOpen {
						t.Fatalf("%d wait already: %+v", before, v)
					}
					apply(*v.Request)
				}
			},
			"request": func(t *rapid.T) { // of any form: the fold takes what was ever written
				p := drawn()
				apply(accessv1.Requested{
					Door: p.door, Who: p.who, Code: rapid.SampledFrom(append(codes, "", "x")).Draw(t, "code"),
					Expires: now.Add(time.Duration(rapid.IntRange(-10, 90).Draw(t, "life")) * time.Minute),
				})
			},
			"grant": func(t *rapid.T) {
				p := drawn()
				apply(accessv1.Granted{Door: p.door, Who: p.who, Owner: rapid.Bool().Draw(t, "owner")})
				in[p] = true
			},
			"revoke": func(t *rapid.T) {
				p := drawn()
				apply(accessv1.Revoked{Door: p.door, Who: p.who})
				in[p] = false
			},
			"move": func(t *rapid.T) {
				d := rapid.SampledFrom(doors).Draw(t, "door")
				f := rapid.SampledFrom(append(chats, 7)).Draw(t, "from")
				to := rapid.SampledFrom(append(chats, 7)).Draw(t, "to")
				apply(accessv1.Moved{Door: d, From: strconv.FormatInt(f, 10), To: strconv.FormatInt(to, 10)})
				edges[d] = append(edges[d], [2]int64{f, to})
				became[d] = []int64{-1}
				for range len(chats) {
					for _, e := range edges[d] {
						if slices.Contains(became[d], e[0]) {
							became[d] = append(became[d], e[1])
						}
					}
				}
			},
			"restart": func(t *rapid.T) {
				b, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				var again State
				if err := json.Unmarshal(b, &again); err != nil {
					t.Fatal(err)
				}
				c, err := json.Marshal(again)
				if err != nil || !bytes.Equal(b, c) || len(again.people) != len(s.people) {
					t.Fatalf("a snapshot brings back another state:\n%s\n%s", b, c)
				}
				s = again
			},
		})
	})
}
