package telegram

import (
	"strconv"
	"strings"
)

// general is the topic of a forum that the Bot API calls by no number when one sends to it.
const general = 1

// address is where a session is shown.
type address struct {
	chat  int64 // as the session names it; negative for groups
	topic int64 // 0 for none
}

// parseAddress reads the peer of a session id, in its one canonical form.
func parseAddress(peer string) (a address, ok bool) {
	chat, topic, hasTopic := strings.Cut(peer, "_t")
	if a.chat, ok = parseNumber(chat); !ok {
		return address{}, false
	}
	if hasTopic {
		if a.topic, ok = parseNumber(topic); !ok || a.topic < 0 {
			return address{}, false
		}
	}
	return a, true
}

// thread is the topic as messages are sent to it.
func (a address) thread() int64 {
	if a.topic == general {
		return 0
	}
	return a.topic
}

// receipt names a message in the chat where it was shown.
func (a address) receipt(chat, message int64) string {
	id := strconv.FormatInt(message, 10)
	if chat == a.chat {
		return id
	}
	return strconv.FormatInt(chat, 10) + "/" + id
}

// message reads a receipt.
func (a address) message(receipt string) (chat, message int64, ok bool) {
	chat = a.chat
	if elsewhere, rest, is := strings.Cut(receipt, "/"); is {
		if chat, ok = parseNumber(elsewhere); !ok {
			return 0, 0, false
		}
		receipt = rest
	}
	if message, ok = parseNumber(receipt); !ok || message < 0 {
		return 0, 0, false
	}
	return chat, message, true
}

// parseNumber reads a decimal that is not 0, as strconv writes it.
func parseNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n != 0 && strconv.FormatInt(n, 10) == s
}
