package telegram

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestReceipts name a message in the chat where it is, and are read by nobody else's rules.
func TestReceipts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64().Filter(func(n int64) bool { return n != 0 })
		a, chat := address{chat: number.Draw(t, "chat")}, number.Draw(t, "where it is")
		id := rapid.Int64Min(1).Draw(t, "id")
		if c, m, ok := a.message(a.receipt(chat, id)); !ok || c != chat || m != id {
			t.Fatalf("%s is read as %d in %d", a.receipt(chat, id), m, c)
		}
		if own := a.receipt(a.chat, id); own != fmt.Sprint(id) {
			t.Fatalf("%s", own)
		}
		_, _, _ = a.message(rapid.String().Draw(t, "anything"))
		_, _ = parseAddress(rapid.String().Draw(t, "peer"))
	})
	for peer, want := range map[string]address{
		"12345": {chat: 12345}, "-100777": {chat: -100777}, "-100777_t42": {-100777, 42}, "-100777_t1": {-100777, general},
	} {
		if a, ok := parseAddress(peer); !ok || a != want {
			t.Errorf("%s: %+v", peer, a)
		}
	}
}
