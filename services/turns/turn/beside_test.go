package turn_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

var photo = messagev1.File{Kind: messagev1.Photo, Type: "image/jpeg", Size: 85_000, Width: 1280, Height: 720, Digest: "d1"}

// What belongs to a message stays with it: into the turn, into the past, and through an edit of its text.
func TestBeside(t *testing.T) {
	ann := messagev1.Sender{ID: "telegram:1", Name: "Ann"}
	for _, c := range []struct {
		name string
		in   messagev1.Received
		want *turn.Beside
	}{
		{"plain", messagev1.Received{From: ann, Text: "hi", Native: "7"}, nil},
		{"plain, with a list of no files", messagev1.Received{Text: "hi", Files: []messagev1.File{}}, nil},
		{"in a group", messagev1.Received{From: ann, Text: "hi", Group: true}, &turn.Beside{Writer: "Ann"}},
		{"without a name", messagev1.Received{From: messagev1.Sender{ID: "telegram:1"}, Text: "hi", Group: true}, &turn.Beside{Writer: "telegram:1"}},
		{"of nobody", messagev1.Received{Text: "hi", Group: true}, &turn.Beside{Writer: "somebody"}},
		{"forwarded", messagev1.Received{Text: "hi", Forwarded: "News"}, &turn.Beside{Forwarded: "News"}},
		{"a file alone", messagev1.Received{Files: []messagev1.File{photo}}, &turn.Beside{Files: []messagev1.File{photo}}},
		{
			"a quote",
			messagev1.Received{Text: "hi", Quote: &messagev1.Quote{Native: "3", From: "Bob", Text: strings.Repeat("é", 600)}},
			&turn.Beside{Quote: &messagev1.Quote{From: "Bob", Text: strings.Repeat("é", 512)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fold(turn.State{}, c.in)
			if it := s.Inbox[0]; !reflect.DeepEqual(it.Beside, c.want) || it.Text != c.in.Text {
				t.Fatalf("waits as %s", compact(it))
			}
			s = fold(s, messagev1.Edited{Message: "m1", Text: "better"}, started)
			if e := s.Turn.Entries[0]; !reflect.DeepEqual(e.Beside, c.want) || e.Text != "better" {
				t.Errorf("in the turn it is %s", compact(e))
			}
			s = fold(s, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}, Text: "ok"})
			if e := s.Past[0].Entries[0]; !reflect.DeepEqual(e.Beside, c.want) {
				t.Errorf("in the past it is %s", compact(e))
			}
			plain := fold(turn.State{}, messagev1.Received{Text: "better"}, started,
				turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}, Text: "ok"})
			if (s.Bytes > plain.Bytes) != (c.want != nil) {
				t.Errorf("it counts for %d bytes, a plain one for %d", s.Bytes, plain.Bytes)
			}
		})
	}
}

// A plain message costs what it always has, the list of what was seen and the inbox: one with something beside its text costs
// exactly that more.
func TestAPlainMessageAllocatesNothingMore(t *testing.T) {
	var s turn.State
	cost := func(b messagev1.Received) float64 {
		ev := eventOf("m1", b)
		return testing.AllocsPerRun(100, func() { s.Apply(ev) })
	}
	plain, group := cost(messagev1.Received{Text: "hi"}), cost(messagev1.Received{Text: "hi", Group: true})
	if plain != group-1 {
		t.Errorf("%v allocations, in a group %v", plain, group)
	}
}

// Reactions are information for others: they change nothing here, nor do they wake anything.
func TestReactionsAreNotFolded(t *testing.T) {
	s := fold(turn.State{}, said, started)
	if got := s.Apply(eventOf("r", messagev1.Reacted{Native: "7", Emoji: []string{"👍"}})); compact(got) != compact(s) {
		t.Errorf("got %s", compact(got))
	}
}

// Help is answered at once, beside whatever runs, with all the commands.
func TestHelp(t *testing.T) {
	s := fold(turn.State{}, said, started, control(messagev1.Help))
	step, ok := s.Next(machine.View{Now: epoch, Worker: "w2"}, turn.DefaultRules()).(machine.Append)
	if !ok || !step.Beside || step.Claim {
		t.Fatalf("got %s", brief(step))
	}
	text := step.Body.(noticev1.Posted).Text
	for _, command := range []string{"new", "stop", "status", "model", "queue", "compact", "approve", "deny", "help"} {
		if strings.Count(text, "\n/"+command+": ") != 1 {
			t.Errorf("/%s has no line in:\n%s", command, text)
		}
	}
	if left := s.Apply(eventOf("n", step.Body)); len(left.Orders) != 0 {
		t.Errorf("it is still to be answered: %s", compact(left))
	}
}
