package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Beginnings of references: a whole value env:NAME is the variable NAME of jetclaw's own environment, file:PATH what the file
// holds. file://… is an address and no reference.
const (
	envReference  = "env:"
	fileReference = "file:"
)

// setting is one text of a definition.
type setting struct {
	path   string // "env.API_TOKEN", "args[2]", "url"
	name   string // of the variable or header
	kind   kind
	before string // the argument before this one
}

type kind int

const (
	plainText kind = iota // command, cwd
	argument
	location // url
	variable // from here on a whole value can be a reference
	headerValue
	clientSecret
)

// rewrite is a copy of d with every text that can hold a reference or a secret replaced, in a fixed order.
func (d Definition) rewrite(fn func(s setting, text string) string) Definition {
	c := d.Clone()
	c.Command = fn(setting{path: "command"}, d.Command)
	for i, a := range d.Args {
		before := ""
		if i > 0 {
			before = d.Args[i-1]
		}
		c.Args[i] = fn(setting{path: "args[" + strconv.Itoa(i) + "]", kind: argument, before: before}, a)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		c.Env[name] = fn(setting{path: "env." + name, name: name, kind: variable}, d.Env[name])
	}
	c.Cwd = fn(setting{path: "cwd"}, d.Cwd)
	c.URL = fn(setting{path: "url", kind: location}, d.URL)
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		c.Headers[name] = fn(setting{path: "headers." + name, name: name, kind: headerValue}, d.Headers[name])
	}
	if d.OAuth != nil {
		c.OAuth.ClientSecret = fn(setting{path: "oauth.clientSecret", name: "clientSecret", kind: clientSecret}, d.OAuth.ClientSecret)
	}
	return c
}

// reference is text as a reference, where a whole value of this kind can be one.
func (s setting) reference(text string) (ref string, ok bool, err error) {
	if s.kind < variable {
		return "", false, nil
	}
	if name, found := strings.CutPrefix(text, envReference); found {
		if !variableName(name) {
			return "", false, errors.New("a reference is written as env:NAME, with the name of a variable")
		}
		return text, true, nil
	}
	if file, found := strings.CutPrefix(text, fileReference); found && !strings.HasPrefix(file, "//") {
		if file == "" {
			return "", false, errors.New("a reference is written as file:PATH")
		}
		return text, true, nil
	}
	return "", false, nil
}

// piece is a part of a text: a reference to a variable, or what it says literally.
type piece struct {
	start, end int    // in the text
	variable   string // NAME of ${NAME}; "" for a literal part
	literal    string
}

// pieces takes a text apart. ${NAME} is the variable NAME, $$ is one $; any other $ is itself.
func pieces(text string) ([]piece, error) {
	var all []piece
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '$')
		if i < 0 || at+i+1 == len(text) {
			return append(all, piece{start: at, end: len(text), literal: text[at:]}), nil
		}
		if i > 0 {
			all = append(all, piece{start: at, end: at + i, literal: text[at : at+i]})
			at += i
		}
		switch text[at+1] {
		case '$':
			all = append(all, piece{start: at, end: at + 2, literal: "$"})
			at += 2
		case '{':
			name, _, closed := strings.Cut(text[at+2:], "}")
			if !closed || !variableName(name) {
				return nil, errors.New("${ begins no reference as ${NAME}; write $$ for a dollar sign")
			}
			end := at + len("${}") + len(name)
			all = append(all, piece{start: at, end: end, variable: name})
			at = end
		default:
			all = append(all, piece{start: at, end: at + 1, literal: "$"})
			at++
		}
	}
	return all, nil
}

func variableName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// References are all references that d uses, sorted, as env:NAME (for ${NAME} too) and file:PATH.
func (d Definition) References() []string {
	return d.references(func(setting, string, bool) bool { return true })
}

// SecretReferences are those of References whose values are secrets, as far as can be told without them: all but variables
// that are no secret by their name and stand where none is expected, such as ${HOME} in an argument.
func (d Definition) SecretReferences() []string {
	return d.references(func(s setting, ref string, whole bool) bool { return s.secret(ref, whole) })
}

func (d Definition) references(wanted func(s setting, ref string, whole bool) bool) []string {
	found := map[string]bool{}
	d.rewrite(func(s setting, text string) string {
		if ref, ok, _ := s.reference(text); ok {
			found[ref] = found[ref] || wanted(s, ref, true)
			return text
		}
		if s.kind == clientSecret {
			return text
		}
		parts, _ := pieces(text)
		for _, p := range parts {
			if ref := envReference + p.variable; p.variable != "" {
				found[ref] = found[ref] || wanted(s, ref, false)
			}
		}
		return text
	})
	maps.DeleteFunc(found, func(_ string, yes bool) bool { return !yes })
	return slices.Sorted(maps.Keys(found))
}

// secret says whether the value of a reference at this place is a secret.
func (s setting) secret(ref string, whole bool) bool {
	name, isVariable := strings.CutPrefix(ref, envReference)
	switch {
	case !isVariable || s.kind == clientSecret || sensitive(name, "x"):
		return true
	case Inherited(name):
		return false
	case s.kind == variable:
		return whole || sensitive(s.name, "x")
	case s.kind == headerValue:
		return whole || sensitiveHeader(s.name, "x")
	case s.kind == argument:
		option := s.before
		return strings.HasPrefix(option, "-") && !strings.Contains(option, "=") && sensitive(strings.TrimLeft(option, "-"), "x")
	}
	return false
}

// Resolve puts the values of references in their places: in env, headers and oauth.clientSecret those of whole values env:NAME
// and file:PATH; of ${NAME} there and in command, args, cwd and url. value is asked for env:NAME and file:PATH. The second result
// are the secrets in it, those that are written out included; whoever prints anything of the server takes them out before.
// An error names the setting and never holds a value.
func (d Definition) Resolve(value func(ref string) (string, error)) (Definition, []string, error) {
	r := resolution{value: value, known: map[string]bool{}}
	resolved := d.rewrite(r.text)
	if len(r.problems) == 0 && d.URL != "" {
		if _, err := parseAddress(resolved.URL); err != nil {
			r.problems = append(r.problems, fmt.Errorf("url: %w", err))
		}
	}
	if len(r.problems) > 0 {
		return Definition{}, nil, errors.Join(r.problems...)
	}
	return resolved, slices.Sorted(maps.Keys(r.known)), nil
}

type resolution struct {
	value    func(ref string) (string, error)
	known    map[string]bool // secrets
	problems []error
}

func (r *resolution) text(s setting, text string) string {
	if r.secrets(s, text); len(r.problems) > 0 {
		return ""
	}
	ref, ok, err := s.reference(text)
	var out string
	switch {
	case err != nil:
	case ok:
		out, err = r.ask(s, ref, true)
	case s.kind == clientSecret:
		out = text
	default:
		out, err = r.expand(s, text)
	}
	if err == nil && strings.ContainsRune(out, 0) {
		err = errors.New("the value holds a zero byte")
	}
	if err == nil && s.kind == headerValue {
		err = headerText(out)
	}
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", s.path, err))
	}
	return out
}

// secrets makes those known that are written out in a text.
func (r *resolution) secrets(s setting, text string) {
	for _, span := range s.literals(text) {
		r.known[strings.ReplaceAll(text[span.start:span.end], "$$", "$")] = true
	}
}

func (r *resolution) expand(s setting, text string) (string, error) {
	parts, err := pieces(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.variable == "" {
			b.WriteString(p.literal)
			continue
		}
		v, err := r.ask(s, envReference+p.variable, false)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

func (r *resolution) ask(s setting, ref string, whole bool) (string, error) {
	v, err := r.value(ref)
	if err != nil {
		return "", err
	}
	if s.secret(ref, whole) || random(v) || masked(v) != v {
		r.known[v] = true
	}
	return v, nil
}
