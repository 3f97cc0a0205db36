package botapi

import (
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Class says what is known of a call that did not succeed. The package comment has the table.
type Class string

const (
	NotSent      Class = "not sent"     // nothing of the request can have reached the server: safe to repeat
	Refused      Class = "refused"      // an answer that says no, for good
	Limited      Class = "limited"      // 429: after RetryAfter
	Unauthorized Class = "unauthorized" // 401
	Conflict     Class = "conflict"     // 409
	Later        Class = "later"        // it was not done; later it may
	Unknown      Class = "unknown"      // it may have been done
)

// Error is a call that did not succeed.
type Error struct {
	Method string // "sendMessage"
	Class  Class
	Code   int // the Bot API's error_code, else the HTTP status; 0 when there was no answer
	// Description is the server's words, or ours where it said nothing readable: at most 300 bytes, printable, no token.
	Description string
	RetryAfter  time.Duration // Limited: at least a second. Later: what the server asks for, or 0
	MigrateTo   int64         // the group is now the supergroup of this number: nothing was done
	foreign     bool
	cause       error // ErrTooBig, or why the caller's context has ended; nothing that has text of others
}

// ErrTooBig is within the error of a Download of more than was allowed.
var ErrTooBig = errors.New("the file is too big")

const (
	maxDescription = 300
	maxRead        = 64 << 10 // of a description, before it is cleaned
	minRetry       = time.Second
	maxRetry       = 24 * time.Hour
)

func (e *Error) Error() string {
	text := e.Method + ": " + e.Description
	if e.foreign {
		return text
	}
	switch e.Code {
	case 401:
		return text + " (the token is wrong or was revoked)"
	case 404:
		return text + " (if every method says so, the token or api_root is wrong)"
	default:
		return text
	}
}

// Unwrap gives ErrTooBig, context.Canceled or context.DeadlineExceeded where one of them is the reason; else nil.
func (e *Error) Unwrap() error { return e.cause }

// Foreign says that what answered was not the Bot API: a proxy, a captive portal, or another server at a wrong api_root.
func (e *Error) Foreign() bool { return e.foreign }

// Blocked says that the bot may no longer, or not yet, write to this person or group: blocked, kicked, never started.
func (e *Error) Blocked() bool {
	return e.says(403, "blocked by the user", "was kicked", "is deactivated", "is not a member", "can't initiate conversation", "can't send messages to")
}

// ChatGone says that there is no such chat. A group that has moved (MigrateTo) is not gone.
func (e *Error) ChatGone() bool {
	return e.MigrateTo == 0 && (e.says(400, "chat not found", "user not found", "peer_id_invalid", "chat_id_invalid", "channel_invalid", "channel_private",
		"group chat was upgraded", "group chat was deactivated") || e.says(403, "group chat was deleted"))
}

// NoRights says that the bot is in the chat and may not do this there.
func (e *Error) NoRights() bool {
	words := []string{
		"not enough rights", "no rights", "administrator rights", "no write access", "chat_write_forbidden", "chat_admin_required",
		"chat_send_plain_forbidden", "chat_restricted", "user_restricted", "topic_closed",
	}
	return e.says(400, words...) || e.says(403, words...)
}

// BadEntities says that the entities do not fit the text: without them it may be sent.
func (e *Error) BadEntities() bool {
	return e.says(400, " entity", " entities", "messageentity")
}

// NotFoundMessage says that the message that was named is not there, or cannot be edited any more.
func (e *Error) NotFoundMessage() bool {
	return e.says(400, "message to edit not found", "message can't be edited", "message to be replied not found", "message not found", "message_id_invalid")
}

// TooLong says that the text has to be split.
func (e *Error) TooLong() bool {
	return e.says(400, "message is too long", "text is too long", "message_too_long") || e.Class == Refused && e.Code == 413
}

// ThreadGone says that there is no such topic.
func (e *Error) ThreadGone() bool {
	return e.says(400, "thread not found", "topic not found", "topic_deleted", "topic_id_invalid")
}

// unmodified says that the message is already as it is to be.
func (e *Error) unmodified() bool {
	return e.says(400, "message is not modified", "message_not_modified")
}

// says looks for words of the Bot API itself: a text of a proxy with the same status means something else.
func (e *Error) says(code int, words ...string) bool {
	if e.Class != Refused || e.Code != code || e.foreign {
		return false
	}
	text := " " + strings.ToLower(e.Description) // a word at its begin has a space before it, too
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// clean makes a text of the server's fit for a log: printable, without secrets, and short. The order matters: what is not
// printable could stand within a token, and a cut could leave half of one.
func clean(s string, redact func(string) string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), maxRead)], "\uFFFD"))
	return cut(strings.TrimSpace(redact(s)), maxDescription)
}

// cut shortens s to at most so many bytes, not within a character.
func cut(s string, most int) string {
	const sign = "…"
	if len(s) <= most {
		return s
	}
	end := most - len(sign)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + sign
}
