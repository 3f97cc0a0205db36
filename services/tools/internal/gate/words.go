package gate

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// static is a word as the shell hands it on, with holes for what it expands.
func static(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	if name := w.Lit(); name == "[" || name == "[[" {
		return name
	}
	braces := braced(w)
	var b strings.Builder
	for i, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			b.WriteString(piece(p))
			continue
		}
		text, open := plain(lit.Value, i == 0, braces)
		b.WriteString(text)
		if open {
			b.WriteRune(hole) // a list or a set: where it ends is for the shell to say
			break
		}
	}
	return b.String()
}

// braced says whether the shell may make several words of one.
func braced(w *syntax.Word) bool {
	begins, parts := false, false
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			begins = begins || strings.Contains(lit.Value, "{")
			parts = parts || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	return begins && parts
}

// document is the text of a here-document.
func document(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		} else {
			b.WriteRune(hole)
		}
	}
	return b.String()
}

// piece is a part of a word that is no plain literal.
func piece(p syntax.WordPart) string {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value
		}
		text, _, err := expand.Format(nil, p.Value, nil)
		if err != nil || strings.ContainsRune(text, hole) || strings.Contains(p.Value, `\c`) {
			return string(hole)
		}
		return text
	case *syntax.DblQuoted:
		if p.Dollar {
			return string(hole) // a translation
		}
		var b strings.Builder
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				b.WriteString(unescaped(lit.Value))
			} else {
				b.WriteString(piece(q))
			}
		}
		return b.String()
	}
	return string(hole)
}

// plain is a literal without quotes: backslashes go, patterns and names of users become holes. open says that a set or a
// list begins where it ends.
func plain(s string, first, braces bool) (text string, open bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case ch == '[' || ch == '{' && braces:
			return b.String(), true
		case ch == '*' || ch == '?':
			b.WriteRune(hole)
		case ch == '~' && (first && i == 0 || i > 0 && (s[i-1] == '=' || s[i-1] == ':')):
			b.WriteRune(hole)
			for i+1 < len(s) && s[i+1] != '/' && s[i+1] != ':' {
				i++
			}
		default:
			b.WriteByte(ch)
		}
	}
	return b.String(), false
}

// unescaped is a text in double quotes.
func unescaped(s string) string {
	const special = "$`\"\\\n"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
