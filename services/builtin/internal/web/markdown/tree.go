package markdown

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// node is an element, or a text.
type node struct {
	tag  atom.Atom // 0: a text, or an element that HTML does not know
	text string    // of a text
	attr []html.Attribute
	kids []*node

	// Found out by measure.
	size    int  // bytes of text within
	block   bool // holds an element that begins a line of its own
	outside bool // not part of the main text
}

func (n *node) get(name string) string {
	for _, a := range n.attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (n *node) has(name string) bool {
	for _, a := range n.attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// tree is what a page consists of.
type tree struct {
	root  *node
	title string
	base  string // of <base href>
	cut   bool

	open  []opened // root first
	over  int      // start tags beyond maxDepth whose end has not come
	count int
}

type opened struct {
	*node
	name string
}

// build reads a page to its end, or to the bounds.
func build(src string) *tree {
	t := &tree{root: &node{tag: atom.Body}}
	t.open = []opened{{t.root, "body"}}
	z := html.NewTokenizer(strings.NewReader(src))
	inTitle := false
	for {
		kind := z.Next()
		if kind == html.ErrorToken { // the end: a string has no other error
			return t
		}
		if t.count >= maxNodes {
			t.cut = true
			return t
		}
		switch kind {
		case html.TextToken:
			text := string(z.Text())
			if inTitle && t.title == "" {
				t.title = text
			}
			if !inTitle {
				t.add(&node{text: text})
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, n := element(z)
			if inTitle = n.tag == atom.Title; !inTitle {
				t.start(n, name, kind == html.SelfClosingTagToken)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			inTitle = false
			t.end(string(name))
		default: // comments and doctypes
		}
	}
}

func (t *tree) top() opened { return t.open[len(t.open)-1] }

func (t *tree) add(n *node) {
	t.count++
	at := t.top().node
	at.kids = append(at.kids, n)
}

// element reads a start tag. Attributes that nobody asks for are not kept: a page can consist of them.
func element(z *html.Tokenizer) (string, *node) {
	raw, more := z.TagName()
	name := string(raw)
	n := &node{tag: atom.Lookup(raw)}
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch k := string(key); k {
		case "alt", "aria-hidden", "class", "hidden", "href", "id", "open", "role", "src", "start", "style":
			if !n.has(k) { // of two the first counts
				n.attr = append(n.attr, html.Attribute{Key: k, Val: string(value)})
			}
		}
	}
	return name, n
}

func (t *tree) start(n *node, name string, closed bool) {
	switch n.tag {
	case atom.Html, atom.Head, atom.Body, atom.Meta, atom.Link:
		return // what is in them counts, where they begin and end does not
	case atom.Base:
		if t.base == "" {
			t.base = n.get("href")
		}
		return
	default:
	}
	t.imply(n.tag)
	if void[n.tag] || closed && (n.tag == 0 || n.tag == atom.Svg || n.tag == atom.Math) {
		t.add(n)
		return
	}
	if len(t.open) >= maxDepth {
		t.over++
		if blocks[n.tag] {
			t.add(&node{tag: atom.Br})
		}
		return
	}
	t.add(n)
	t.open = append(t.open, opened{n, name})
}

// imply closes what a start tag ends without saying so.
func (t *tree) imply(a atom.Atom) {
	switch a {
	case atom.Li:
		t.close(atom.Ul, atom.Ol, atom.Menu)(atom.Li)
	case atom.Dt, atom.Dd:
		t.close(atom.Dl)(atom.Dt, atom.Dd)
	case atom.Td, atom.Th:
		t.close(atom.Table, atom.Tr)(atom.Td, atom.Th)
	case atom.Tr:
		t.close(atom.Table)(atom.Tr)
	case atom.Thead, atom.Tbody, atom.Tfoot:
		t.close(atom.Table)(atom.Thead, atom.Tbody, atom.Tfoot)
	case atom.Option:
		t.close(atom.Select)(atom.Option)
	case atom.A:
		t.close()(atom.A)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		t.close()(atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6)
	default:
		if blocks[a] {
			t.close()(atom.P)
		}
	}
}

// close ends the innermost of the elements given to what it returns, with all that is open inside, unless one of fences, a
// cell or a table stands between.
func (t *tree) close(fences ...atom.Atom) func(tags ...atom.Atom) {
	return func(tags ...atom.Atom) {
		for i := len(t.open) - 1; i > 0; i-- {
			tag := t.open[i].tag
			if slices.Contains(tags, tag) {
				t.open = t.open[:i]
				return
			}
			if tag == atom.Table || slices.Contains(fences, tag) || len(fences) == 0 && cells[tag] {
				return
			}
		}
	}
}

// end closes the innermost element of the name. An end tag of something else than a table's parts does not reach out of a cell.
func (t *tree) end(name string) {
	a := atom.Lookup([]byte(name))
	if void[a] {
		if a == atom.Br { // browsers take </br> for <br>
			t.add(&node{tag: atom.Br})
		}
		return
	}
	if t.over > 0 {
		t.over--
		return
	}
	part := a == atom.Table || a == atom.Tr || a == atom.Thead || a == atom.Tbody || a == atom.Tfoot || cells[a]
	for i := len(t.open) - 1; i > 0; i-- {
		if t.open[i].name == name {
			t.open = t.open[:i]
			return
		}
		tag := t.open[i].tag
		if tag == atom.Table || !part && cells[tag] {
			return
		}
	}
}

var cells = set(atom.Td, atom.Th, atom.Caption)

var void = set(atom.Area, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Param, atom.Source, atom.Track, atom.Wbr)

// blocks begin a line of their own.
var blocks = set(
	atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dialog, atom.Dir, atom.Div,
	atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6,
	atom.Header, atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Section,
	atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul,
)

func set(tags ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(tags))
	for _, t := range tags {
		m[t] = true
	}
	return m
}
