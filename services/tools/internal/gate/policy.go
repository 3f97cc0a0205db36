package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule is one line of a policy. It holds for a call when all of it does. Globs have `*` (any text, slashes too) and `?` (one
// character); they match the whole text and see the difference between upper and lower case.
type Rule struct {
	Tool string // glob over the tool's name
	// Args are globs over the text of arguments, by name: a dotted path leads into objects, "*" is any argument. A text is
	// itself, other values are their JSON. Of lists, a rule that denies or asks needs one element to match, one that allows
	// needs all of them. For the tool's Shell argument the glob is over each simple command.
	Args   map[string]string
	Agent  string // glob over the agent's name; "": all of them
	Reason string // for people, and for the model when the rule denies
}

// Policy is what the operator has written. Deny beats ask, ask beats allow, whatever the order.
type Policy struct {
	Deny, Ask, Allow []Rule
}

const (
	maxRules = 1000
	maxGlob  = 1000 // bytes
)

// Validate says which rules are wrong and why, all at once. A rule that would never hold for lack of a name is wrong, too.
func (p Policy) Validate() error {
	var wrong []error
	for _, l := range p.lists() {
		if len(l.rules) > maxRules {
			wrong = append(wrong, fmt.Errorf("policy.%s: %d rules, at most %d", l.name, len(l.rules), maxRules))
		}
		for i, r := range l.rules {
			if err := r.validate(); err != nil {
				wrong = append(wrong, fmt.Errorf("policy.%s[%d]: %w", l.name, i, err))
			}
		}
	}
	return errors.Join(wrong...)
}

type list struct {
	name  string
	rules []Rule
}

func (p Policy) lists() []list { return []list{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} }

func (r Rule) validate() error {
	if r.Tool == "" {
		return errors.New(`tool: is missing; "*" is any tool`)
	}
	if err := pattern("tool", r.Tool); err != nil {
		return err
	}
	if err := pattern("agent", r.Agent); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Args)) {
		if name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
			return fmt.Errorf(`args: %q is no argument's name; "*" is any argument, "a.b" is b in the object a`, name)
		}
		if r.Args[name] == "" {
			return fmt.Errorf(`args.%s: is empty; "*" is any text`, name)
		}
		if err := pattern("args."+name, r.Args[name]); err != nil {
			return err
		}
	}
	return nil
}

func pattern(at, p string) error {
	switch {
	case len(p) > maxGlob:
		return fmt.Errorf("%s: %d bytes, at most %d", at, len(p), maxGlob)
	case !utf8.ValidString(p):
		return fmt.Errorf("%s: is not valid UTF-8", at)
	case strings.ContainsFunc(p, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return fmt.Errorf("%s: has control characters", at)
	}
	return nil
}

// applies says whether the rule is about such calls at all, whatever their arguments.
func (r Rule) applies(tool, agent string) bool {
	return glob(r.Tool, tool) && (r.Agent == "" || glob(r.Agent, agent))
}

// match is how surely a rule holds.
type match int

const (
	no    match = iota
	might       // it could, depending on what an expansion in a command becomes
	yes
)

// hits says whether a rule that denies or asks holds for a call.
func (r Rule) hits(c *subject) match {
	if !r.applies(c.tool.Name, c.agent) {
		return no
	}
	sure := yes
	for name, g := range r.Args {
		found := no
		for _, l := range c.at(name) {
			for _, text := range l.forms {
				if l.shell {
					break
				}
				if glob(g, text) {
					found = yes
				}
			}
			if l.shell {
				found = max(found, c.command.hits(g))
			}
		}
		sure = min(sure, found)
	}
	return sure
}

// allows says whether a rule that allows holds for a call, all but its shell command; commands says which parts of that it
// covers.
func (r Rule) allows(c *subject) (holds bool, commands func(part string) bool) {
	if !r.applies(c.tool.Name, c.agent) {
		return false, nil
	}
	var globs []string
	for name, g := range r.Args {
		leaves := c.at(name)
		if len(leaves) == 0 {
			return false, nil
		}
		for _, l := range leaves {
			switch {
			case l.shell:
				globs = append(globs, g)
			case l.whole:
			case !slices.ContainsFunc(l.strict, func(s string) bool { return !glob(g, s) }):
			default:
				return false, nil
			}
		}
	}
	return true, func(part string) bool {
		return !slices.ContainsFunc(globs, func(g string) bool { return !glob(g, part) })
	}
}
