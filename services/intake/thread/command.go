package thread

import (
	"strings"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// keep is the one argument of messagev1.New.
const keep = "keep"

// maxArgument bounds what may follow a command, in bytes.
const maxArgument = 200

// verbOf is the command of a text whose first word is exactly it; "" for all other words.
func verbOf(word string) messagev1.Verb {
	switch word {
	case "/stop", "/new", "/compact", "/model", "/queue", "/status", "/approve", "/deny", "/help":
		return messagev1.Verb(word[1:])
	case "/start": // what Telegram sends when a person opens a bot for the first time
		return messagev1.Help
	case "/reset":
		return messagev1.New
	}
	return ""
}

// Verbs are all commands, as a caller is told of them.
const Verbs = "stop, new, compact, model, queue, status, approve, deny or help"

// IsVerb says whether there is a command of this name.
func IsVerb(v messagev1.Verb) bool {
	switch v {
	case messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status,
		messagev1.Approve, messagev1.Deny, messagev1.Help:
		return true
	}
	return false
}

// wrongArgument says what is wrong with what follows a command, and what to do; "" when nothing is. name is the command as
// it was written.
func wrongArgument(v messagev1.Verb, name, arg string) string {
	switch v {
	case messagev1.Compact, messagev1.Status:
		if arg != "" { // taking the command would lose the text
			return name + " stands alone: send it first, then the text"
		}
	case messagev1.New:
		if arg != "" && arg != keep {
			return name + ` stands alone, or with "` + keep + `": send it first, then the text`
		}
	case messagev1.Stop, messagev1.Help, messagev1.Model, messagev1.Queue, messagev1.Approve, messagev1.Deny: // see decide for the last two
	}
	return wrongLine(name, arg, maxArgument)
}

// wrongLine says what is wrong with what follows a command as a text; "" when nothing is.
func wrongLine(name, arg string, most int) string {
	switch {
	case firstInvalid(arg) >= 0:
		return "what follows " + name + " is not UTF-8"
	case strings.ContainsFunc(arg, func(r rune) bool { return strings.ContainsRune("\n\u2028\u2029", r) || dropped(r) }):
		return "what follows " + name + " has to be one line: send the command alone, then the text"
	case len(arg) > most:
		return "what follows " + name + " is too long: send the command alone, then the text"
	}
	return ""
}
