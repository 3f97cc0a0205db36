// Package markdown turns a web page, however broken or hostile, into Markdown that is read with profit by a model.
//
//	tokens (golang.org/x/net/html) → tree (tree.go) → what is shown of it (select.go) → Markdown (render.go, writer.go)
//
// Time and memory are linear in the size of the page, for every page. That is why the tree is our own: the HTML standard's
// way of building one lets 36 KB of unclosed <b> before many <p> grow to 245 MB, and a full-blown converter fills the
// memory for one cell with colspan=100000000. Ours knows which end tags may be left out and has bounds: an element beyond
// maxDepth is not nested but joins its parent, elements beyond maxNodes are not read (Page.Cut), nothing is written beyond
// maxOut.
//
// What is dropped: scripts, styles, forms' controls, pictures without a description, hidden elements, and around the main
// text navigation, asides, page headers and footers, and what is named as such (cookie banners, share buttons). If nearly
// nothing would be left, they stay: there are pages that are a list of links.
//
// Text is not escaped: the reader is a model, which takes a * for a *. Only a | in a table cell is.
package markdown

import (
	"net/url"
	"strings"
)

const (
	maxNodes = 300_000
	maxDepth = 200
	maxOut   = 8 << 20
	maxURL   = 2 << 10 // a longer link is left out, its text stays
	maxBase  = 512     // of a <base href>, which stands before every link
)

// Page is a converted page.
type Page struct {
	Title string // one line, may be ""
	Text  string
	Cut   bool // the page was larger than the bounds; Text is what lies within them
}

// Convert converts the HTML of a page that was found at base. src is UTF-8.
func Convert(src string, base *url.URL) Page {
	t := build(src)
	root := mainPart(t.root)
	if t.base != "" {
		if u, err := base.Parse(t.base); err == nil && (u.Scheme == "http" || u.Scheme == "https") && len(t.base) <= maxBase {
			base = u
		}
	}
	r := renderer{base: base}
	r.node(root)
	return Page{Title: strings.Join(strings.Fields(t.title), " "), Text: r.w.String(), Cut: t.cut || r.w.full()}
}
