package markdown

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

// linkedBlocks is how much text of an <a> with blocks in it is one link, in bytes; more is a page with an <a> left open.
const linkedBlocks = 400

// renderer walks a measured tree.
type renderer struct {
	w    writer
	base *url.URL
}

func (r *renderer) kids(n *node) {
	for _, k := range n.kids {
		if r.w.full() {
			return
		}
		r.node(k)
	}
}

func (r *renderer) node(n *node) {
	if n.outside {
		return
	}
	switch n.tag {
	case 0:
		r.w.text(n.text)
		r.kids(n)
	case atom.Br:
		r.w.line(1)
	case atom.Hr:
		r.w.line(2)
		if r.w.inline == 0 && len(r.w.out) > 0 {
			r.w.verbatim("---")
			r.w.line(2)
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.heading(n)
	case atom.A:
		r.link(n)
	case atom.Img:
		r.image(n)
	case atom.B, atom.Strong:
		r.around(n, "**")
	case atom.I, atom.Em:
		r.around(n, "*")
	case atom.S, atom.Del, atom.Strike:
		r.around(n, "~~")
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		r.code(n)
	case atom.Pre:
		r.pre(n)
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		r.list(n)
	case atom.Li: // outside of a list
		r.item(n, "- ")
	case atom.Blockquote:
		r.quote(n)
	case atom.Dt:
		r.w.line(2)
		r.around(n, "**")
		r.w.line(1)
		r.w.owed = min(r.w.owed, 1)
	case atom.Dd:
		r.w.line(1)
		undo := r.w.indent(": ", "  ")
		r.kids(n)
		undo()
		r.w.line(1)
	case atom.Table:
		r.table(n)
	default:
		if !blocks[n.tag] {
			r.kids(n)
			return
		}
		r.w.line(2)
		r.kids(n)
		r.w.line(2)
	}
}

func (r *renderer) heading(n *node) {
	if r.w.inline > 0 || n.size > linkedBlocks { // a heading that long was not closed
		r.w.line(2)
		r.kids(n)
		r.w.line(2)
		return
	}
	r.w.line(2)
	done := r.w.mark(strings.Repeat("#", int(n.tag.String()[1]-'0')) + " ")
	r.w.inline++
	r.kids(n)
	r.w.inline--
	done("")
	r.w.line(2)
}

// around puts a mark on both sides. One that would span blocks means nothing in Markdown.
func (r *renderer) around(n *node, mark string) {
	if n.block && r.w.inline == 0 || r.marked(mark) {
		r.kids(n)
		return
	}
	done := r.w.mark(mark)
	r.kids(n)
	done(mark)
}

// marked says that the mark was opened by the element around and no word came since: <b><strong>.
func (r *renderer) marked(mark string) bool {
	p := r.w.pending
	return len(p) > 0 && p[len(p)-1] == mark
}

func (r *renderer) link(n *node) {
	to := r.absolute(n.get("href"))
	if to == "" && n.size <= len("🔗") && strings.Trim(source(n), "¶#§🔗 \n") == "" {
		return // beside a heading, to link to it
	}
	if to == "" || n.block && n.size > linkedBlocks {
		r.kids(n)
		return
	}
	done := r.w.mark("[")
	r.w.inline++
	r.kids(n)
	r.w.inline--
	done("](" + to + ")")
}

func (r *renderer) image(n *node) {
	alt := n.get("alt")
	to := r.absolute(n.get("src"))
	if strings.TrimSpace(alt) == "" {
		return
	}
	if to == "" {
		r.w.text(alt)
		return
	}
	done := r.w.mark("![")
	r.w.text(alt)
	done("](" + to + ")")
}

var inURL = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", "`", "%60")

// absolute is a link as a reader can follow it; "" for one that leads nowhere else.
func (r *renderer) absolute(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > maxURL {
		return ""
	}
	u, err := r.base.Parse(href)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	u.User = nil
	s := u.String()
	if len(s) > maxURL {
		return ""
	}
	return inURL.Replace(s)
}

func (r *renderer) code(n *node) {
	text := strings.Join(strings.Fields(source(n)), " ")
	if text == "" {
		return
	}
	fence := strings.Repeat("`", ticks(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	if before := source(n); isSpace(rune(before[0])) {
		r.w.space = true
	}
	r.w.begin()
	r.w.word(fence + text + fence)
}

func (r *renderer) pre(n *node) {
	text := strings.Trim(strings.ReplaceAll(source(n), "\r", ""), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if r.w.inline > 0 {
		r.w.line(1)
		r.w.text(text)
		r.w.line(1)
		return
	}
	fence := strings.Repeat("`", max(3, ticks(text)+1))
	r.w.line(2)
	r.w.verbatim(fence + language(n) + "\n" + text + "\n" + fence)
	r.w.line(2)
}

// source is the text of a subtree with its white space.
func source(n *node) string {
	var b strings.Builder
	var walk func(n *node)
	walk = func(n *node) {
		if n.tag == atom.Br {
			b.WriteByte('\n')
		}
		b.WriteString(n.text)
		for _, k := range n.kids {
			walk(k)
		}
		if n.tag == atom.Div || n.tag == atom.Li || n.tag == atom.Tr || n.tag == atom.P { // a line each, in some highlighters
			b.WriteByte('\n')
		}
	}
	for _, k := range n.kids {
		walk(k)
	}
	return b.String()
}

// ticks is the length of the longest run of backticks.
func ticks(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// language is what the classes of a <pre> or of the <code> in it say about the language.
func language(n *node) string {
	for _, c := range append([]*node{n}, n.kids...) {
		for class := range strings.FieldsSeq(c.get("class")) {
			for _, before := range []string{"language-", "lang-", "highlight-source-"} {
				if l, ok := strings.CutPrefix(class, before); ok && len(l) <= 20 && !strings.ContainsAny(l, "`") {
					return l
				}
			}
		}
	}
	return ""
}

func (r *renderer) list(n *node) {
	nested := r.w.lead != "" || r.w.prefix != ""
	r.w.line(1)
	if !nested {
		r.w.line(2)
	}
	number, err := strconv.Atoi(n.get("start"))
	if err != nil || number < 0 {
		number = 1
	}
	for _, k := range n.kids {
		switch {
		case r.w.full():
			return
		case k.tag != atom.Li:
			r.node(k)
		case n.tag == atom.Ol:
			r.item(k, strconv.Itoa(number)+". ")
			number++
		default:
			r.item(k, "- ")
		}
	}
	if !nested {
		r.w.line(2)
	}
}

func (r *renderer) item(n *node, bullet string) {
	if n.outside {
		return
	}
	if r.w.inline > 0 {
		r.w.line(1)
		r.kids(n)
		r.w.line(1)
		return
	}
	r.w.line(1)
	undo := r.w.indent(bullet, strings.Repeat(" ", len(bullet)))
	r.kids(n)
	undo()
	r.w.line(1)
	r.w.owed = min(r.w.owed, 1) // items stand close together, whatever their paragraphs owe
}

func (r *renderer) quote(n *node) {
	if r.w.inline > 0 {
		r.w.line(1)
		r.kids(n)
		r.w.line(1)
		return
	}
	r.w.line(2)
	undo := r.w.indent("> ", "> ")
	r.kids(n)
	undo()
	r.w.line(2)
}
