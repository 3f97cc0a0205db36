package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/jetclaw/jetclaw/services/turns/prompt"
)

const (
	skillsDir = "skills"
	skillFile = "SKILL.md"

	maxSkill       = 40 << 10 // bytes of a skill that are shown when it is read
	maxHead        = 4 << 10  // bytes of its frontmatter
	maxDescription = 500      // characters
	maxSkills      = 64
	maxFolders     = 256 // that are looked at
)

var skillName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// folders are those below skills/, each of which may hold a skill.
type folders struct {
	info    fs.FileInfo // of skills/ when it was listed; nil: look again
	list    []entry     // their SKILL.md, by name
	problem string
}

// refresh looks at the folders and says whether anything is different now.
func (f *folders) refresh(root *os.Root, now time.Time) bool {
	changed := f.relist(root, now)
	for i := range f.list {
		if f.list[i].refresh(root, now, maxHead) {
			changed = true
		}
	}
	return changed
}

// relist lists skills/ when it may have changed. Folders that stay keep what was read of them.
func (f *folders) relist(root *os.Root, now time.Time) bool {
	info, err := root.Stat(skillsDir)
	if err == nil && same(f.info, info) {
		return false
	}
	next := folders{}
	var found []string
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		next.problem = reason(err)
	case !info.IsDir():
		next.problem = "not a folder"
	default:
		if found, err = list(root); err != nil {
			next.problem = reason(err)
		} else if now.Sub(info.ModTime()) > settled {
			next.info = info
		}
	}
	if len(found) > maxFolders {
		next.problem = fmt.Sprintf("%d folders, only the first %d are looked at", len(found), maxFolders)
		found = found[:maxFolders]
	}
	changed := next.problem != f.problem || len(found) != len(f.list)
	for _, name := range found {
		e := entry{path: path.Join(skillsDir, name, skillFile)}
		if i := slices.IndexFunc(f.list, func(old entry) bool { return old.path == e.path }); i >= 0 {
			e = f.list[i]
		} else {
			changed = true
		}
		next.list = append(next.list, e)
	}
	*f = next
	return changed
}

// list names what is in skills/ and may be a folder; links are followed later, within the workspace.
func list(root *os.Root) ([]string, error) {
	d, err := root.Open(skillsDir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if (e.IsDir() || e.Type()&fs.ModeSymlink != 0) && !strings.HasPrefix(e.Name(), ".") {
			found = append(found, e.Name())
		}
	}
	slices.Sort(found)
	return found, nil
}

// compose gives the skills, where each is, and what is wrong with the others.
func (f *folders) compose() (skills []prompt.Skill, paths map[string]string, problems []Problem) {
	paths = map[string]string{}
	if f.problem != "" {
		problems = append(problems, Problem{Path: skillsDir, Text: f.problem})
	}
	over := 0
	for _, e := range f.list {
		if e.problem != "" {
			problems = append(problems, Problem{Path: e.path, Text: e.problem})
		}
		if !e.there {
			continue // a folder without a skill is no mistake
		}
		s, wrong := parse(e)
		switch {
		case wrong != nil:
			problems = append(problems, *wrong)
		case paths[s.Name] != "":
			problems = append(problems, Problem{Path: e.path, Text: fmt.Sprintf("the name %s is taken by %s", s.Name, paths[s.Name])})
		case len(skills) == maxSkills:
			over++
		default:
			skills = append(skills, s)
			paths[s.Name] = e.path
		}
	}
	if over > 0 {
		problems = append(problems, Problem{Path: skillsDir, Text: fmt.Sprintf("%d skills are not offered: there are more than %d", over, maxSkills)})
	}
	return skills, paths, problems
}

// parse reads what a SKILL.md begins with.
func parse(e entry) (prompt.Skill, *Problem) {
	wrong := func(line int, format string, args ...any) (prompt.Skill, *Problem) {
		return prompt.Skill{}, &Problem{Path: e.path, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	head, ok := frontmatter(e.text)
	if !ok {
		return wrong(1, "begins with no frontmatter: lines between two lines ---, at most %d bytes", maxHead)
	}
	var fields struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if line := indirect(head); line > 0 { // a few aliases can stand for billions of values
		return wrong(line, "anchors, aliases and tags are not read here: write the value out")
	}
	if err := yaml.Unmarshal([]byte(head), &fields); err != nil {
		line, text := 1, err.Error()
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			text = ye.GetMessage()
			if t := ye.GetToken(); t != nil && t.Position != nil {
				line = t.Position.Line + 1 // below ---
			}
		}
		return wrong(line, "%s", text)
	}
	s := prompt.Skill{Name: fields.Name, Description: strings.Join(strings.Fields(fields.Description), " ")}
	if s.Name == "" {
		s.Name = path.Base(path.Dir(e.path))
	}
	if !skillName.MatchString(s.Name) {
		return wrong(lineOf(head, "name"), "the name %q is not made of small letters, digits and hyphens (at most 64)", s.Name)
	}
	if s.Description == "" {
		return wrong(lineOf(head, "description"), "no description: it says when the skill is of use")
	}
	if n := utf8.RuneCountInString(s.Description); n > maxDescription {
		return wrong(lineOf(head, "description"), "the description has %d characters, at most %d may be", n, maxDescription)
	}
	return s, nil
}

// indirect is the line of the file on which the first anchor, alias or tag of a frontmatter stands; 0 when there is none.
func indirect(head string) int {
	f, err := parser.ParseBytes([]byte(head), 0)
	if err != nil {
		return 0 // the decoder says what is wrong
	}
	var found finder
	for _, doc := range f.Docs {
		if doc.Body != nil {
			ast.Walk(&found, doc.Body)
		}
	}
	return found.line
}

// finder remembers where it has met what stands for something else.
type finder struct{ line int }

// Visit is called for each node.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	if f.line > 0 {
		return nil
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		f.line = n.GetToken().Position.Line + 1 // below ---
		return nil
	}
	return f
}

// frontmatter is what stands between the first line, which is ---, and the next such line.
func frontmatter(text string) (string, bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", false
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", false
}

// lineOf is the line of the file on which a key of the frontmatter stands, or the first.
func lineOf(head, key string) int {
	for i, line := range strings.Split(head, "\n") {
		if strings.HasPrefix(line, key+":") {
			return i + 2
		}
	}
	return 1
}

// missing says which skills there are instead.
func missing(name string, have []prompt.Skill) error {
	if len(have) == 0 {
		return fmt.Errorf("there is no skill %q: there are none", name)
	}
	list := make([]string, len(have))
	for i, s := range have {
		list[i] = s.Name
	}
	return fmt.Errorf("there is no skill %q; there are: %s", name, strings.Join(list, ", "))
}
