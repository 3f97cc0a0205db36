package thread

import (
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// always is what a person adds to an approval that is to hold for later calls, too.
const always = "always"

// maxReason bounds the reason of a denial, in bytes.
const maxReason = 500

// decide reads what follows approve or deny. wrong says what is wrong with it, and what to do; "" when nothing is. name is
// the command as it was written.
//
//	approve [ID] [always]
//	deny    [ID] [reason…]
//
// An id is known by its form. A word of a reason that has this form by chance is taken for one: there is no such approval
// then, which the person is told, and nothing is decided.
func decide(v messagev1.Verb, name, arg string) (d messagev1.Decision, wrong string) {
	id, rest := firstWord(arg)
	if d.Approval = ApprovalID(id); d.Approval == "" {
		rest = arg
	}
	if v == messagev1.Deny {
		d.Decision, d.Reason = callv1.Deny, rest
		return d, wrongLine(name, rest, maxReason)
	}
	d.Decision = callv1.AllowOnce
	if wrong = wrongLine(name, arg, maxArgument); wrong != "" {
		return d, wrong
	}
	switch strings.ToLower(rest) {
	case "":
	case always:
		d.Decision = callv1.AllowAlways
	default: // an answer that is not understood must not be taken for a yes
		return d, name + " may be followed by an approval's id, and by \"" + always + "\", and by nothing else: " + name + " ID " + always
	}
	return d, ""
}

// approvalLetters are those of an approval's id behind its first, which is an a: lower-case base32.
const approvalLetters = 10

// ApprovalID is the id that a person has written, in lower case; "" when it has not the form of one. ASCII only: other
// letters that fold to these are not theirs.
func ApprovalID(s string) string {
	if len(s) != 1+approvalLetters || s[0] != 'a' && s[0] != 'A' {
		return ""
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '2' && c <= '7':
		default:
			return ""
		}
	}
	return strings.ToLower(s)
}
