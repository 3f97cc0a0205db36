package catalogue

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// maxDescription bounds a description, in bytes.
const maxDescription = 4 << 10

const (
	destroys    = "The server says that it may destroy something."
	undescribed = "Its arguments are not described: what the server says of them cannot be used."
)

// offered is a tool of the server as it goes into the catalogue.
func offered(name string, d definition.Definition, t Tool, told *findings) entry {
	schema, trouble := objectSchema(t.Schema)
	about := visible(t.Description)
	if strings.TrimSpace(about) == "" {
		about = visible(t.Title)
	}
	if trouble == nil {
		about = cut(about, maxDescription)
	} else {
		told.add(oddSchema, t.Name, trouble.Error())
		about = strings.TrimSpace(cut(about, maxDescription-len(undescribed)-1) + "\n" + undescribed)
	}
	if at := elsewhere(schema); at != "" {
		told.add(refersElsewhere, t.Name, at)
	}
	e := entry{
		tool:      governed(d, says(t.ReadOnly) && !says(t.Destructive)), // who says both is believed the worse
		target:    Target{Kind: KindTool, Name: t.Name},
		annotated: t.ReadOnly != nil,
	}
	e.readOnly = e.annotated && *t.ReadOnly
	e.tool.Name, e.tool.Description, e.tool.Schema = name, about, schema
	e.tool.Again = e.tool.Again || says(t.Idempotent)
	// What it says of an open or closed world is not believed: whatever a call holds has left for the server, and that it goes no
	// further is the word of whom it may be kept from. The owner's approval is about levels, not about what has been read.
	if says(t.Destructive) {
		e.tool.Warning = destroys
	}
	return e
}

// governed is what is the same for all tools of a server that only read, or that do more.
func governed(d definition.Definition, readOnly bool) toolv1.Tool {
	t := toolv1.Tool{
		Level: toolv1.L2, Egress: toolv1.Chosen, Again: readOnly, Timeout: timeout(d), Untrusted: true, AnyArgs: true,
	}
	switch mode := d.ApprovalMode(); {
	case (mode == definition.Auto || mode == definition.Approve) && readOnly:
		t.Level = toolv1.L0
	case mode == definition.Approve:
		t.Level = toolv1.L1
	}
	return t
}

// timeout is for a connection that has to be made first, and the longest call.
func timeout(d definition.Definition) time.Duration {
	return d.ConnectionTimeout() + max(MaxCall, d.RequestTimeout())
}

func says(b *bool) bool { return b != nil && *b }

// visible is text without what nobody sees: a model would read it, a person who looks at the tool would not.
func visible(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || unseen(r):
			return -1
		}
		return r
	}, text)
}

// unseen says whether a character that counts as printed shows nothing: enough of them in a row are a text of their own.
func unseen(r rune) bool {
	return unicode.Is(unicode.Variation_Selector, r) && r != 0xFE0F || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == 0x2800
}

// cut is at most limit bytes of text.
func cut(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	n := limit - len(ellipsis)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + ellipsis
}
