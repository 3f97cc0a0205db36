package gate

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is read of a command. Beyond them it cannot be told what it does.
const (
	maxCommand = 32 << 10 // bytes
	maxNesting = 200      // of brackets, by a rough count: the parser calls itself
	maxParts   = 500
	maxWrapped = 8 // commands in commands in commands
)

// command is what a shell argument would run.
type command struct {
	parts   []part
	unclear string // why it cannot be told what runs, for people; "" when it can
	seen    map[string]bool
}

// part is one simple command, its words joined by spaces; an assignment; or a redirection to a file. Holes are what is
// known only when it runs.
type part struct {
	text  string
	alias string // the same without the folder of the command's name; "" when it is the same
	loose bool   // what may be a command, for rules that deny or ask only
}

// read parses a command.
func read(text string) *command {
	c := &command{seen: map[string]bool{}}
	c.read(text, 0)
	return c
}

func (c *command) doubt(format string, args ...any) {
	if c.unclear == "" {
		c.unclear = fmt.Sprintf(format, args...)
	}
}

func (c *command) add(words []string, loose bool) {
	if len(c.parts) >= maxParts {
		c.doubt("it has more than %d commands", maxParts)
		return
	}
	p := part{text: strings.Join(words, " "), loose: loose}
	if len(words) > 0 {
		if name := words[0][strings.LastIndexByte(words[0], '/')+1:]; name != words[0] && name != "" {
			p.alias = strings.Join(append([]string{name}, words[1:]...), " ")
		}
	}
	if p.text != "" && !slices.Contains(c.parts, p) {
		c.parts = append(c.parts, p)
	}
}

// read adds the commands of a text, as bash and as sh would read it.
func (c *command) read(text string, depth int) {
	switch {
	case c.seen[text]:
		return
	case depth > maxWrapped:
		c.doubt("it runs commands that run commands, more than %d deep", maxWrapped)
		return
	case len(text) > maxCommand:
		c.doubt("it is longer than %d bytes", maxCommand)
		return
	case nesting(text) > maxNesting:
		c.doubt("it is nested too deep")
		return
	}
	c.seen[text] = true
	file, err := parse(text, syntax.LangBash)
	if err != nil {
		c.doubt("it cannot be parsed: %v", err)
		c.add([]string{text}, true)
		return
	}
	c.walk(file, depth)
	if other, err := parse(text, syntax.LangPOSIX); err == nil {
		c.walk(other, depth)
	}
}

func parse(text string, lang syntax.LangVariant) (file *syntax.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, fmt.Errorf("the parser gave up")
		}
	}()
	if strings.ContainsRune(text, hole) {
		return nil, fmt.Errorf("it holds what is known only when it runs")
	}
	return syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
}

// nesting counts what may open a level, without regard to quotes: more than there is, never less.
func nesting(text string) int {
	n, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			n++
		case ')', '}', ']':
			n = max(0, n-1)
		}
		most = max(most, n)
	}
	openers := 0
	for w := range strings.FieldsSeq(text) {
		switch strings.TrimLeft(w, ";&|!") {
		case "if", "then", "else", "elif", "while", "until", "for", "do", "case", "select", "time", "!", "coproc", "function":
			openers++
		}
	}
	return max(most, openers, strings.Count(text, "`")/2, strings.Count(text, "!")/4)
}

// walk adds every command below a node.
func (c *command) walk(file syntax.Node, depth int) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			c.stmt(n, depth)
		case *syntax.DeclClause:
			words := []string{n.Variant.Value}
			for _, a := range n.Args {
				words = append(words, assignment(a))
			}
			c.simple(words, depth)
		case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ArithmExp, *syntax.CStyleLoop:
			c.arithmetic(n)
		case *syntax.ParamExp:
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
				c.doubt("it expands a text twice")
			}
		}
		return true
	})
}

// arithmetic evaluates names and subscripts again, so that a quoted text in it can run commands.
func (c *command) arithmetic(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			c.hidden(n.Value)
		case *syntax.Lit:
			c.hidden(n.Value)
		}
		return true
	})
}

func (c *command) hidden(text string) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		c.doubt("it hides a command in what is evaluated as a number or a name")
	}
}

func (c *command) stmt(s *syntax.Stmt, depth int) {
	for _, r := range s.Redirs {
		c.redirect(r)
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	for _, a := range call.Assigns {
		c.add([]string{assignment(a)}, false)
	}
	if len(call.Args) == 0 {
		return
	}
	words := make([]string, 0, len(call.Args))
	for _, w := range call.Args {
		words = append(words, static(w))
	}
	c.simple(words, depth)
	if !shells[baseName(words[0])] {
		return
	}
	for _, r := range s.Redirs { // a shell reads its commands from there
		if r.Hdoc != nil {
			c.read(document(r.Hdoc), depth+1)
		} else if r.Op == syntax.WordHdoc {
			c.read(static(r.Word), depth+1)
		}
	}
}

// redirect adds what opens a file. Descriptors and /dev/null are no files.
func (c *command) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	default:
	}
	to := static(r.Word)
	if to == "/dev/null" {
		return
	}
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if strings.Trim(to, "0123456789-") == "" {
			return
		}
	}
	c.add([]string{r.Op.String(), to}, false)
}

// assignment is an assignment as a word.
func assignment(a *syntax.Assign) string {
	var b strings.Builder
	if a.Name != nil {
		b.WriteString(a.Name.Value)
	}
	if a.Index != nil {
		b.WriteString("[" + string(hole) + "]")
	}
	if a.Append {
		b.WriteByte('+')
	}
	if !a.Naked {
		b.WriteByte('=')
	}
	switch {
	case a.Array != nil:
		b.WriteRune(hole)
	case a.Value != nil:
		b.WriteString(static(a.Value))
	}
	return b.String()
}

func baseName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// hits says how surely a rule that denies or asks matches one of the parts.
func (c *command) hits(g string) match {
	found := no
	if c == nil {
		return no
	}
	for _, p := range c.parts {
		for _, text := range []string{p.text, p.alias} {
			switch {
			case text == "":
			case glob(g, text):
				return yes
			case strings.ContainsRune(text, hole) && maybe(g, text):
				found = might
			}
		}
	}
	return found
}
