package markdown

import (
	"strings"

	"golang.org/x/net/html"
)

// Plain is the text of a piece of HTML: what a snippet of a search says.
func Plain(src string) string {
	if !strings.ContainsAny(src, "<&") {
		return src
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(src))
	skip := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			if !skip {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			tok := z.Token()
			skip = never[tok.DataAtom] && !void[tok.DataAtom]
			if blocks[tok.DataAtom] {
				b.WriteByte(' ')
			}
		case html.SelfClosingTagToken:
			b.WriteByte(' ') // <br/>
		case html.EndTagToken:
			skip = false
		default:
		}
	}
}
