package telegram_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

func question(text string) channel.Item {
	return channel.Item{Session: anna, Kind: "approval.requested", Text: text, Approval: "abcdefghij2", Always: true}
}

func settled(text string, shown channel.Receipt, asked string) channel.Item {
	return channel.Item{
		Session: anna, Kind: "approval.decided", Text: text, Approval: "abcdefghij2",
		Prompt: &channel.Prompt{Receipt: shown.ID, Text: asked},
	}
}

func TestButtons(t *testing.T) {
	data := func(d callv1.Decision) string { return approvalv1.Button{Approval: "abcdefghij2", Decision: d}.Data() }
	once, deny := faketelegram.Button{Text: "Allow once", CallbackData: data(callv1.AllowOnce)}, faketelegram.Button{Text: "Deny", CallbackData: data(callv1.Deny)}
	always := faketelegram.Button{Text: "Always", CallbackData: data(callv1.AllowAlways)}
	for name, c := range map[string]struct {
		change func(*channel.Item)
		want   [][]faketelegram.Button
	}{
		"all":             {func(*channel.Item) {}, [][]faketelegram.Button{{once, deny}, {always}}},
		"not for always":  {func(i *channel.Item) { i.Always = false }, [][]faketelegram.Button{{once, deny}}},
		"no approval":     {func(i *channel.Item) { i.Approval = "" }, nil},
		"an id too long":  {func(i *channel.Item) { i.Approval = strings.Repeat("x", 60) }, nil},
		"another kind":    {func(i *channel.Item) { i.Kind = "approval.expired" }, nil},
		"a kind of a lie": {func(i *channel.Item) { i.Kind = "turn.completed" }, nil},
	} {
		w := start(t, plenty)
		i := question("Run it?")
		c.change(&i)
		w.send(t, i)
		if m := w.Messages(annaChat); len(m) != 1 || !reflect.DeepEqual(m[0].Markup, c.want) {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestLongQuestion: the buttons are below its last part, and that is what shows the decision.
func TestLongQuestion(t *testing.T) {
	w := start(t, plenty)
	i := question(strings.Repeat("line of a script\n", 300))
	shown := w.whole(t, i)
	m := w.Messages(annaChat)
	if len(m) != 2 || m[0].Markup != nil || len(m[1].Markup) != 2 || shown.ID != strconv.Itoa(m[1].ID) {
		t.Fatalf("%d messages, %+v", len(m), shown)
	}
	last := m[1].Text
	if r := w.send(t, settled("Anna allowed it.", shown, i.Text)); r != (channel.Receipt{ID: shown.ID}) {
		t.Errorf("%+v", r)
	}
	if m := w.Messages(annaChat); len(m) != 2 || m[1].Text != last+"\n\nAnna allowed it." || m[1].Markup != nil {
		t.Errorf("%+v", m)
	}
}

func TestSettled(t *testing.T) {
	w := start(t, plenty)
	const text = "Run `x`?"
	shown := w.send(t, question(text))
	w.Fail(faketelegram.Fault{Method: "editMessageText", After: true, Close: true})
	i := settled("Anna denied it.", shown, text)
	w.fails(t, i, channel.Retry) // an edit may be made again, whether or not it was
	w.send(t, i)
	w.send(t, i)
	m := w.Messages(annaChat)
	if len(m) != 1 || m[0].Text != "Run `x`?\n\nAnna denied it." || m[0].Markup != nil {
		t.Errorf("%+v", m)
	}
}

// TestSettledApart: what is too long for the question is a message of its own, and the buttons go all the same.
func TestSettledApart(t *testing.T) {
	for name, c := range map[string]struct{ asked, became string }{
		"a long outcome":  {"Run it?", strings.Repeat("because ", 1000)},
		"a long question": {strings.Repeat("x", 3990), strings.Repeat("y", 200)},
	} {
		w := start(t, plenty)
		shown := w.send(t, question(c.asked))
		w.Fail(faketelegram.Fault{Method: "editMessageReplyMarkup", Close: true})
		i := settled(c.became, shown, c.asked)
		w.fails(t, i, channel.Retry)
		w.whole(t, i)
		m := w.Messages(annaChat)
		if len(m) < 2 || m[0].Text != c.asked || m[0].Markup != nil || m[1].Markup != nil {
			t.Errorf("%s: %d messages, buttons %v", name, len(m), m[0].Markup)
		}
		var all strings.Builder
		for _, m := range m[1:] {
			all.WriteString(m.Text + " ")
		}
		if strings.TrimSpace(all.String()) != strings.TrimSpace(c.became) {
			t.Errorf("%s: not all of it was shown", name)
		}
	}
}

// TestQuestionIsGone: then what became of it is still told.
func TestQuestionIsGone(t *testing.T) {
	w := start(t, plenty)
	shown := w.send(t, question("Run it?"))
	id, _ := strconv.Atoi(shown.ID)
	w.Delete(annaChat, id)
	for n, receipt := range []string{shown.ID, "", "x"} {
		for _, text := range []string{"It has expired.", strings.Repeat("y", 3999)} {
			w.send(t, settled(text, channel.Receipt{ID: receipt}, "Run it, or not?"))
		}
		if got := w.texts(annaChat); len(got) != 2*n+2 || got[2*n] != "It has expired." {
			t.Errorf("%q: %d messages", receipt, len(got))
		}
	}
}
