package turn

import (
	"cmp"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

const (
	maxQuote = 1 << 10 // bytes that are kept of what a message replies to: it only has to be recognised
	maxName  = 256     // bytes of a person's name
)

// somebody stands for a person whose name is not known.
const somebody = "somebody"

// Beside is what a message has beside its text. Most have nothing, so an entry only points to it. Files are references: their
// bytes are in the object store, under the session and their digest, and are no part of any fold.
type Beside struct {
	Writer    string           `json:"writer,omitempty"`    // in a group: who has written it, as the channel shows the person; untrusted
	Quote     *messagev1.Quote `json:"quote,omitempty"`     // what it replies to; never written through
	Forwarded string           `json:"forwarded,omitempty"` // who has written it first; then the text and the files are somebody else's
	Told      string           `json:"told,omitempty"`      // the program outside that has said it to the person; nothing else is then set
	Files     []messagev1.File `json:"files,omitempty"`     // never written through
}

// besides are nil for a plain message.
func besides(b messagev1.Received) *Beside {
	if !b.Group && b.Quote == nil && b.Forwarded == "" && len(b.Files) == 0 {
		return nil
	}
	out := &Beside{Forwarded: head(b.Forwarded, maxName)}
	if len(b.Files) > 0 {
		out.Files = b.Files
	}
	if b.Group {
		out.Writer = head(cmp.Or(b.From.Name, b.From.ID, somebody), maxName)
	}
	if q := b.Quote; q != nil {
		out.Quote = &messagev1.Quote{From: head(q.From, maxName), Own: q.Own, Text: head(q.Text, maxQuote)}
	}
	return out
}

// Foreign says whether some of the words are somebody else's: not the person's who has sent the message, and not the agent's.
func (b *Beside) Foreign() bool {
	return b != nil && (b.Forwarded != "" || b.Told != "" || b.Quote != nil && !b.Quote.Own)
}

// size is what it counts for, in bytes. Pictures count for their references only: how many of them a model is shown is
// bounded for each request.
func (b *Beside) size() int {
	if b == nil {
		return 0
	}
	n := len(b.Writer) + len(b.Forwarded) + len(b.Told)
	if b.Quote != nil {
		n += overhead + len(b.Quote.From) + len(b.Quote.Text)
	}
	for _, f := range b.Files {
		n += 2*overhead + len(f.Name) + len(f.Type) + len(f.Missing)
	}
	return n
}
