package markdown

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// never is what no reader of a page sees as text.
var never = set(
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Canvas, atom.Iframe, atom.Object, atom.Embed, atom.Audio, atom.Video,
	atom.Map, atom.Select, atom.Datalist, atom.Textarea, atom.Input, atom.Progress, atom.Meter, atom.Noembed, atom.Noframes,
	atom.Annotation, atom.AnnotationXml,
)

// mainPart is the part of a page that is worth reading, measured and without what is hidden.
func mainPart(root *node) *node {
	measure(root)
	if m := candidate(root); m != nil {
		root = m
		outer(root, root.size, true)
	} else {
		outer(root, root.size, false)
	}
	if k := kept(root); k == 0 || k < root.size/10 {
		inner(root)
	}
	return root
}

// measure drops what is never shown and counts the rest.
func measure(n *node) {
	n.size = len(strings.TrimSpace(n.text))
	n.block = n.tag == atom.Br
	if n.tag == atom.Img {
		n.size = len(strings.TrimSpace(n.get("alt")))
	}
	shown := n.kids[:0]
	for _, k := range n.kids {
		if never[k.tag] || hidden(k) {
			continue
		}
		measure(k)
		n.size += k.size
		n.block = n.block || k.block || blocks[k.tag]
		shown = append(shown, k)
	}
	n.kids = shown
}

func hidden(n *node) bool {
	if n.has("hidden") && n.get("hidden") != "until-found" || strings.EqualFold(n.get("aria-hidden"), "true") || n.tag == atom.Dialog && !n.has("open") {
		return true
	}
	style := n.get("style")
	if style == "" {
		return false
	}
	for rule := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(rule, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		switch name {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		case "font-size": // not opacity: text that fades in begins with 0
			if strings.TrimRight(value, "0.pxemt%") == "" && strings.HasPrefix(value, "0") {
				return true
			}
		}
	}
	return false
}

// candidate is the element that says it is the main text, if it holds enough of the page's for that to be so: the largest
// <main>, or the only <article>.
func candidate(root *node) *node {
	var best *node
	var articles []*node
	var walk func(n *node)
	walk = func(n *node) {
		if n.tag == atom.Main || strings.EqualFold(n.get("role"), "main") {
			if best == nil || n.size > best.size {
				best = n
			}
		}
		if n.tag == atom.Article {
			articles = append(articles, n)
			return
		}
		for _, k := range n.kids {
			walk(k)
		}
	}
	walk(root)
	if best != nil && best.size >= 100 && best.size >= root.size/5 {
		return best
	}
	if len(articles) == 1 && articles[0].size >= 200 && articles[0].size >= root.size/2 {
		return articles[0]
	}
	return nil
}

// outer marks what stands around the main text. Inside of it, notes and headings that look alike belong to it.
func outer(n *node, whole int, inMain bool) {
	for _, k := range n.kids {
		if around(k, whole, inMain) {
			k.outside = true
			continue
		}
		outer(k, whole, inMain || k.tag == atom.Main || k.tag == atom.Article)
	}
}

func around(n *node, whole int, inMain bool) bool {
	role := strings.ToLower(n.get("role"))
	switch {
	case n.tag == atom.Nav, role == "navigation", role == "search", role == "menubar", role == "toolbar":
		return true
	case inMain:
		return false
	case n.tag == atom.Aside, n.tag == atom.Footer, n.tag == atom.Button, role == "complementary", role == "contentinfo", role == "alertdialog":
		return true
	case n.tag == atom.Header, role == "banner":
		return !holds(n, atom.H1)
	case n.tag == atom.Div, n.tag == atom.Section, n.tag == atom.Ul:
		return n.size < whole/3 && (named(n.get("class")) || named(n.get("id"))) && !holds(n, atom.H1)
	}
	return false
}

// furniture are words in classes and ids of what is no text.
var furniture = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("ad ads advert advertisement breadcrumb breadcrumbs consent cookie cookies footer gdpr modal nav navbar navigation " +
		"newsletter popup promo share sharing sidebar skip social sponsored toolbar") {
		m[w] = true
	}
	return m
}()

func named(names string) bool {
	for w := range strings.FieldsFuncSeq(names, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' }) {
		if furniture[strings.ToLower(w)] {
			return true
		}
	}
	return false
}

func holds(n *node, tag atom.Atom) bool {
	for _, k := range n.kids {
		if k.tag == tag || holds(k, tag) {
			return true
		}
	}
	return false
}

func kept(n *node) int {
	if n.outside {
		return 0
	}
	if len(n.kids) == 0 {
		return n.size
	}
	sum := 0
	for _, k := range n.kids {
		sum += kept(k)
	}
	return sum
}

// inner takes the marks back.
func inner(n *node) {
	n.outside = false
	for _, k := range n.kids {
		inner(k)
	}
}
