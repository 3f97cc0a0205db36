package format

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

const (
	longestURL = 2048 // bytes of an address that can be followed; longer ones are shown
	inlineData = "data:"
)

// link writes a label that leads somewhere. Where Telegram would not follow it, the address is shown beside the label.
func (r *renderer) link(n ast.Node, destination []byte) {
	if r.out.in(textLink) {
		r.inline(n)
		return
	}
	to := strings.Join(strings.Fields(decode(destination)), "%20")
	r.out.indent()
	opened := follows(to) && r.out.begin(Entity{Type: textLink, URL: to})
	from := len(r.out.text)
	r.inline(n)
	label := strings.TrimSpace(string(r.out.text[from:]))
	switch {
	case !visible(label) && !hidden(to): // there is nothing to tap on but the address itself
		r.out.write(to)
		label = to
	case !opened && !same(label, to) && !hidden(to):
		r.out.write(" (" + strings.TrimPrefix(to, "mailto:") + ")")
	}
	if !opened {
		return
	}
	if label == to {
		r.out.drop() // Telegram finds it by itself
		return
	}
	r.out.end()
}

// image is a link to it: a text can show none.
func (r *renderer) image(n *ast.Image) {
	r.out.write("🖼 ")
	if n.FirstChild() != nil {
		r.link(n, n.Destination)
		return
	}
	alt := ast.NewString([]byte("image"))
	n.AppendChild(n, alt)
	r.link(n, n.Destination)
}

// hidden addresses tell a reader nothing: places in a page that there is not, and pictures spelled out.
func hidden(to string) bool {
	return to == "" || strings.HasPrefix(to, "#") || len(to) > len(inlineData) && strings.EqualFold(to[:len(inlineData)], inlineData)
}

// same reports whether a label says all that its address does.
func same(label, to string) bool {
	for _, scheme := range []string{"", "http://", "https://", "mailto:"} {
		if scheme+label == to || scheme+label+"/" == to {
			return true
		}
	}
	return false
}

// follows reports whether the server takes an address for a text_link: it refuses the whole message, or drops the link, if
// it does not. Names and passwords before the host are not taken by us: they are there to look like another host.
func follows(to string) bool {
	if len(to) > longestURL || !utf8.ValidString(to) || strings.ContainsFunc(to, func(r rune) bool { return blank(r) || unicode.IsControl(r) }) {
		return false
	}
	u, err := url.Parse(to)
	if err != nil || u.User != nil || u.Opaque != "" {
		return false
	}
	host := u.Hostname()
	switch u.Scheme {
	case "tg":
		return host != "" && u.Port() == "" && named(host) && !strings.Contains(host, ".")
	case "http", "https":
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return false
			}
		}
		return strings.Contains(strings.Trim(host, "."), ".") && named(host) && !strings.HasSuffix(u.Host, ":")
	}
	return false
}

// named reports whether a host has only what is in names.
func named(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
