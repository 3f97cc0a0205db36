package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/noticev1"
)

// Bounds of what programs outside have said and no model was shown yet. What is older goes: it stays in the journal only.
const (
	maxTold  = 32
	toldText = 8 << 10 // bytes of each that a model is shown
)

// Told is what a program outside has said to the person in the agent's name. It starts no turn: a model is shown it with the next
// call that is claimed, in its place among the messages.
type Told struct {
	By    string `json:"by"` // untrusted
	Text  string `json:"text"`
	After string `json:"after,omitempty"` // id of the message of the inbox that came last before it
}

func (t Told) entry() Entry { return Entry{Role: User, Text: t.Text, Beside: &Beside{Told: t.By}} }

// told keeps what a program has said. What it asks the person is between those two.
func (s State) told(b noticev1.Posted) State {
	if b.By == "" || b.Permission != nil || b.Quiet || strings.TrimSpace(b.Text) == "" {
		return s
	}
	t := Told{By: head(b.By, maxName), Text: head(b.Text, toldText)}
	if more := len(b.Text) - len(t.Text); more > 0 {
		t.Text = fmt.Sprintf("%s\n[cut: %d more bytes]", t.Text, more)
	}
	for _, it := range slices.Backward(s.Inbox) {
		if it.message() {
			t.After = it.ID
			break
		}
	}
	s.Told = appended(s.Told[max(0, len(s.Told)+1-maxTold):], t)
	return s
}

// Untold is what programs have said that no model was shown yet, as it will be.
func (s State) Untold() []Entry {
	var entries []Entry
	for _, t := range s.Told {
		entries = append(entries, t.entry())
	}
	return entries
}

// entriesOf are what messages of the inbox say, in its order, with what programs have said before and between them. What they
// have said behind a message that goes on waiting waits with it.
func (s State) entriesOf(messages []string) (entries []Entry, waiting []Told) {
	behind := map[string][]Entry{}
	for _, t := range s.Told {
		switch {
		case slices.Contains(messages, t.After):
			behind[t.After] = append(behind[t.After], t.entry())
		case s.waits(t.After):
			waiting = append(waiting, t)
		default:
			entries = append(entries, t.entry())
		}
	}
	for _, it := range s.Inbox {
		if it.message() && slices.Contains(messages, it.ID) {
			entries = append(entries, Entry{Role: User, Text: it.Text, Beside: it.Beside})
			entries = append(entries, behind[it.ID]...)
		}
	}
	return entries, waiting
}

// waits says whether a message is in the inbox and no model was shown it.
func (s State) waits(message string) bool {
	return slices.ContainsFunc(s.Inbox, func(it Item) bool { return it.ID == message }) &&
		(s.Turn == nil || !slices.Contains(s.Turn.Messages, message))
}
