package markdown

import (
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func at(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestConvert(t *testing.T) {
	base := at(t, "https://ex.org/dir/page?q=1")
	for name, c := range map[string]struct{ in, want string }{
		"words":                 {"<p>a  b\n c</p>", "a b c"},
		"paragraphs":            {"<p>a<p>b", "a\n\nb"},
		"line break":            {"a<br>b<br/>c", "a\nb\nc"},
		"headings":              {"<h1>a</h1><h3>b <b>c</b></h3>", "# a\n\n### b **c**"},
		"empty heading":         {"<h1> </h1>a", "a"},
		"anchor of a heading":   {"<h2>a <a href=#x>¶</a></h2>", "## a"},
		"emphasis":              {"x<b> y </b>z <em>e</em>", "x **y** z *e*"},
		"emphasis of nothing":   {"a<b> </b>c", "a c"},
		"emphasis twice":        {"<b><strong>a</strong></b>", "**a**"},
		"emphasis over blocks":  {"<b>a<div>b</div></b>", "a\n\nb"},
		"entities":              {"&lt;b&gt; &amp;amp; &#x41;", "<b> &amp; A"},
		"link":                  {`<a href="x?a=1&amp;b=2">t</a>`, "[t](https://ex.org/dir/x?a=1&b=2)"},
		"link to the root":      {`<a href=/x>t</a>`, "[t](https://ex.org/x)"},
		"link, other host":      {`<a href=//h/x>t</a>`, "[t](https://h/x)"},
		"link with parentheses": {`<a href="/a (b)">t</a>`, "[t](https://ex.org/a%20%28b%29)"},
		"link, script":          {`<a href="javascript:alert(1)">t</a>`, "t"},
		"link, data":            {`<a href="data:text/html,x">t</a>`, "t"},
		"link, file":            {`<a href="file:///etc/passwd">t</a>`, "t"},
		"link, user":            {`<a href="https://u:p@h/">t</a>`, "[t](https://h/)"},
		"link, mail":            {`<a href="mailto:a@b">t</a>`, "[t](mailto:a@b)"},
		"link within":           {`<a href="#x">t</a>`, "t"},
		"link, broken":          {`<a href="http://[x">t</a>`, "t"},
		"link, long":            {`<a href="/` + strings.Repeat("x", 3000) + `">t</a>`, "t"},
		"link, empty":           {`a <a href=x><img src=y></a> b`, "a b"},
		"link of a card":        {`<a href=x><h3>A</h3><p>b</p></a>`, "[A b](https://ex.org/dir/x)"},
		"link left open":        {`<a href=x>a<p>` + strings.Repeat("word ", 100) + `</p>`, "a\n\n" + strings.TrimSpace(strings.Repeat("word ", 100))},
		"link in a link":        {`<a href=x>a<a href=y>b`, "[a](https://ex.org/dir/x)[b](https://ex.org/dir/y)"},
		"base":                  {`<base href=/other/><a href=x>t</a>`, "[t](https://ex.org/other/x)"},
		"base, script":          {`<base href=javascript:x><a href=x>t</a>`, "[t](https://ex.org/dir/x)"},
		"picture":               {`<img src=p.png alt="A cat">`, "![A cat](https://ex.org/dir/p.png)"},
		"picture without words": {`a<img src=p.png>b`, "ab"},
		"picture, data":         {`<img src="data:image/png;base64,xx" alt=cat>`, "cat"},
		"list":                  {"<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"},
		"list, numbers":         {"<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b"},
		"list, nested":          {"<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"},
		"list, paragraphs":      {"<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n- c"},
		"list, empty item":      {"<ul><li><li>b</ul>", "- b"},
		"items without list":    {"<li>a<li>b", "- a\n- b"},
		"definitions":           {"<dl><dt>a<dd>b<dd>c<dt>d<dd>e</dl>", "**a**\n: b\n: c\n\n**d**\n: e"},
		"quote":                 {"a<blockquote><p>b<p>c</blockquote>d", "a\n\n> b\n>\n> c\n\nd"},
		"list in a quote":       {"<blockquote><ul><li>a<li>b</ul></blockquote>", "> - a\n> - b"},
		"code":                  {"a <code>b  c</code> d", "a `b c` d"},
		"code with a tick":      {"<code>a`b</code>", "``a`b``"},
		"block of code":         {"<pre><code class='x language-go'>a\n\tb\n</code></pre>c", "```go\na\n\tb\n```\n\nc"},
		"block with a fence":    {"<pre>```\na</pre>", "````\n```\na\n````"},
		"block, lines":          {"<pre>a<br>b<span>c</span></pre>", "```\na\nbc\n```"},
		"rule":                  {"a<hr>b", "a\n\n---\n\nb"},
		"table":                 {"<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>x|y</table>", "| a | b |\n| --- | --- |\n| 1 | x\\|y |"},
		"table, blocks":         {"<table><tr><td><p>a<p>b<td>c<tr><td><ul><li>d<li>e</ul><td></table>", "| a b | c |\n| --- | --- |\n| d e | |"},
		"table, caption":        {"<table><caption>t</caption><colgroup><col></colgroup><tr><td>a<td>b</table>", "t\n\n| a | b |\n| --- | --- |"},
		"table, short head":     {"<table><tr><td>a<tr><td>b<td>c</table>", "| a |  |\n| --- | --- |\n| b | c |"},
		"table, layout":         {"<table><tr><td>a<td><table><tr><td>b<td>c</table></table>", "a\n\n| b | c |\n| --- | --- |"},
		"table, one column":     {"<table><tr><td>a<tr><td>b</table>", "a\nb"},
		"table, vast span":      {"<table><tr><td colspan=100000000 rowspan=100000000>a<td>b</table>", "| a | b |\n| --- | --- |"},
		"scripts":               {"a<script>if (a<b) '</p>'</script><style>p{}</style><noscript>n</noscript><template>t</template>b", "ab"},
		"comment":               {"a<!-- <p>x -->b", "ab"},
		"hidden":                {`a<p hidden>x<p style="DISPLAY : None !important">x<p aria-hidden=true>x<p style="visibility:hidden">x<p style="font-size:0px">x<p>b`, "a\n\nb"},
		"shown":                 {`<p style="display:block;font-size:0.9em">a`, "a"},
		"dialog":                {"a<dialog>x</dialog><dialog open>b</dialog>", "a\n\nb"},
		"svg":                   {"a<svg><title>t</title><text>x</text></svg>b<svg/>c", "abc"},
		"form":                  {"<form>a<input value=x><select><option>x</select><textarea>x</textarea></form>", "a"},
		"unknown elements":      {"<my-card>a</my-card><x-y/>b", "ab"},
		"end without a start":   {"</div></p>a</b></td></table>b", "ab"},
		"end out of a cell":     {"<div><table><tr><td>a</div><td>b</table>", "| a | b |\n| --- | --- |"},
		"attributes broken":     {`<a href="x>t</a><p>b`, ""},
		"tag cut off":           {"a<p", "a"},
		"nothing":               {"", ""},
		"no-break spaces":       {"a&nbsp;&nbsp;b", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Convert(c.in, base); got.Text != c.want || got.Cut {
				t.Errorf("got\n%s\nwant\n%s", got.Text, c.want)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{
		"<title>a\n b &amp; c</title>x":                      "a b & c",
		"<head><title>a</title></head><svg><title>b</title>": "a",
		"x":                               "",
		"<title></title><title>b</title>": "b",
		"<title>a <b>b</b>":               "a <b>b</b>",
	} {
		if got := Convert(in, at(t, "http://h/")).Title; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMainPart(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("long text ", 50))
	for name, c := range map[string]struct{ in, want string }{
		"main":                   {"<div>menu</div><main>" + long + "</main><div>foot</div>", long},
		"role":                   {"<div>menu</div><div role=main>" + long + "</div>", long},
		"one article":            {"<div>menu</div><article>" + long + "</article>", long},
		"two articles":           {"<article>a</article><article>b</article>", "a\n\nb"},
		"main that is a shell":   {"<main>x</main><div>" + long + "</div>", "x\n\n" + long},
		"navigation":             {"<nav>menu</nav><p>a long enough text</p><footer>foot</footer><aside>side</aside>", "a long enough text"},
		"navigation in main":     {"<main><nav>menu</nav>" + long + "</main>", long},
		"aside in an article":    {"<p>a</p><article><aside>note</aside></article><article>b</article>", "a\n\nnote\n\nb"},
		"header":                 {"<header>logo</header>" + long, long},
		"header with the title":  {"<header><h1>t</h1></header>" + long, "# t\n\n" + long},
		"names":                  {"<div class='site-cookie_banner'>x</div><div id=sidebar>y</div><div class=Social>z</div>" + long, long},
		"names that are no word": {"<div class=adaptive>x</div>" + long, "x\n\n" + long},
		"a page of links":        {"<nav><a href=http://a/>a</a></nav>", "[a](http://a/)"},
		"named like furniture":   {"<div class=sidebar>" + long + "</div><p>b</p>", long + "\n\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Convert(c.in, at(t, "http://h/")).Text; got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a <strong>b</strong> &amp; c": "a b & c",
		"1 < 2":                        "1 < 2",
		"a<script>x</script>b":         "ab",
		"a<p>b":                        "a b",
		"plain":                        "plain",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestHostilePages converts what makes other converters slow or large. The limits are far above what it takes.
func TestHostilePages(t *testing.T) {
	const size = 256 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	marks := ""
	for i := range 400 {
		marks += "<b id=" + strings.Repeat("x", i) + ">"
	}
	for name, in := range map[string]string{
		"deep":              strings.Repeat("<div>", 100_000) + "x" + strings.Repeat("</div>", 100_000) + "<p>after",
		"deep, unclosed":    fill("<div>"),
		"deep, mixed":       fill("<b><i><u><span>"),
		"deep lists":        fill("<ul><li>"),
		"deep quotes":       strings.Repeat("<blockquote>", 190) + fill("x<br>"),
		"deep tables":       fill("<table><tr><td>"),
		"marks reopened":    "<p>" + marks + fill("</p><p>x"),
		"long base":         "<base href=//x/" + strings.Repeat("y", 500) + ">" + fill("<a href=z>q</a>"),
		"cells":             "<table><tr>" + fill("<td>a"),
		"spans":             "<table>" + fill("<tr><td colspan=1000 rowspan=65534>a"),
		"brackets":          fill("["),
		"stars":             fill("*"),
		"ticks":             "<pre>" + fill("`"),
		"one line":          fill("x"),
		"attributes":        "<p " + fill("a=b ") + ">x",
		"many attributes":   fill("<p a b c d e f>"),
		"names":             strings.Repeat("<div class=nav>", 190) + fill("<i>a</i>"),
		"ends of nothing":   strings.Repeat("<p><b>", 190) + fill("</i>"),
		"links in links":    fill("<a href=x>y"),
		"comments":          fill("<!--"),
		"ampersands":        fill("&#"),
		"less":              fill("<"),
		"zeros":             fill("\x00"),
		"scripts, unclosed": "<script>" + fill("x"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := time.Now()
			p := Convert(in, at(t, "http://h/"))
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			if took > 20*time.Second || after.TotalAlloc-before.TotalAlloc > 256<<20 || len(p.Text) > maxOut+size {
				t.Errorf("%v, %d MiB allocated, %d bytes out", took, (after.TotalAlloc-before.TotalAlloc)>>20, len(p.Text))
			}
			if name == "deep" && !strings.HasSuffix(p.Text, "x\n\nafter") {
				t.Errorf("the text is lost: %q", p.Text)
			}
		})
	}
}

// TestAnyPage: whatever the page, its words come out as valid UTF-8 and twice the same.
func TestAnyPage(t *testing.T) {
	base := at(t, "https://ex.org/")
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom(strings.Fields(`<p> </p> <div> </div> <ul> <li> </li> </ul> <ol> <table> <tr> <td> </td> </tr> </table> <th> <b> </b> <a> </a>
				<h1> </h1> <h2> <pre> </pre> <code> </code> <blockquote> </blockquote> <br> <hr> <dl> <dt> <dd> <nav> </nav> <main> </main> <article> <svg>
				</svg> <title> </title> <caption> </caption> <tbody> <thead> <em> </em> <select> <option> <dialog> </html> </body> <script> </script>
				&amp; &#0; &# <!-- --> <![CDATA[ ]]> <? > | [ ] ( ) `+"`")),
			rapid.SampledFrom([]string{"<a href=x>", "<a href='#'>", "<img alt=x src=y>", "<p hidden>", "<div class=nav>", " ", "\n", "word", "\xff", "é"}),
			rapid.String(),
		), 0, 60).Draw(t, "parts")
		in := strings.ToValidUTF8(strings.Join(parts, ""), "\uFFFD")
		p := Convert(in, base)
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Title) {
			t.Fatalf("not UTF-8: %q", p.Text)
		}
		if again := Convert(in, base); again != p {
			t.Fatalf("not the same twice:\n%+v\n%+v", p, again)
		}
		if strings.Contains(p.Text, "\n\n\n") && !strings.Contains(p.Text, "```") {
			t.Fatalf("empty lines pile up: %q", p.Text)
		}
	})
}
