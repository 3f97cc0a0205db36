package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBrokenSkills(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no frontmatter", "# Bake\n", ":1: begins with no frontmatter"},
		{"no end", "---\ndescription: x\n", ":1: begins with no frontmatter"},
		{"too long a head", "---\ndescription: x\nmore: " + strings.Repeat("x", 5000) + "\n---\n", ":1: begins with no frontmatter"},
		{"no YAML", "---\nname: a\ndescription: [x\n---\n", ":3: "},
		{"not fields", "---\n- a\n---\n", ":2: "},
		{"a list", "---\nname: a\n\ndescription: [x, y]\n---\n", ":4: "},
		{"no description", "---\nname: a\n---\n", ":1: no description"},
		{"an empty one", "---\nname: a\ndescription: \" \"\n---\n", ":3: no description"},
		{"too long", "---\ndescription: " + strings.Repeat("ä", 501) + "\n---\n", ":2: the description has 501 characters"},
		{"a bad name", "---\ndescription: x\nname: ../Etc\n---\n", ":3: the name \"../Etc\" is not made"},
		{"a long name", "---\ndescription: x\nname: " + strings.Repeat("a", 65) + "\n---\n", ":3: the name"},
		{
			"an alias bomb", "---\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n" +
				"description: [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n---\n", ":2: anchors, aliases and tags are not read here: write the value out",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"skills/broken/SKILL.md": c.text, "skills/good/SKILL.md": "---\ndescription: good\n---\n"})
			got := b.load()
			if !strings.HasPrefix(got, "skill good: good\n! skills/broken/SKILL.md"+c.want) || strings.Count(got, "!") != 1 {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSkillNamesAreUnique(t *testing.T) {
	b := newBench(t, map[string]string{
		"skills/a/SKILL.md": "---\nname: same\ndescription: first\n---\n", "skills/b/SKILL.md": "---\nname: same\ndescription: second\n---\n",
		"skills/Big Folder/SKILL.md": "---\ndescription: x\n---\n", "skills/named/SKILL.md": "---\nname: \"007\"\ndescription: " + strings.Repeat("ä", 500) + "\n---\n",
	})
	b.wants("skill same: first\nskill 007: " + strings.Repeat("ä", 500) + "\n" +
		"! skills/Big Folder/SKILL.md:1: the name \"Big Folder\" is not made of small letters, digits and hyphens (at most 64)\n" +
		"! skills/b/SKILL.md: the name same is taken by skills/a/SKILL.md")
}

func TestManySkills(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("skills/s%03d/SKILL.md", i)] = "---\ndescription: x\n---\n"
	}
	_, skills, problems := newBench(t, files).Load()
	if len(skills) != maxSkills || skills[63].Name != "s063" || len(problems) != 2 {
		t.Errorf("%d skills, problems %v", len(skills), problems)
	}
}

// A skill is found by its name, never by a path.
func TestSkill(t *testing.T) {
	long := "---\ndescription: long\n---\n" + strings.Repeat("a line of text\n", 4000)
	b := newBench(t, map[string]string{"skills/bake/SKILL.md": "---\nname: bread\ndescription: x\n---\nBake \x00it.\n", "skills/long/SKILL.md": long, "SKILL.md": "no"})
	if got, err := b.Skill("bread"); err != nil || got != "---\nname: bread\ndescription: x\n---\nBake it.\n" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, name := range []string{"", "bake", "..", "../skills/bake", "skills/bake", "bake/../bake", "/etc", "bread/"} {
		if got, err := b.Skill(name); err == nil || !strings.HasSuffix(err.Error(), "; there are: bread, long") {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
	}
	got, err := b.Skill("long")
	if err != nil || len(got) > maxSkill+80 || !strings.Contains(got, "a line of text\n\n[cut: the last ") {
		t.Errorf("%d bytes, %v, ending %q", len(got), err, got[max(0, len(got)-80):])
	}
	// A folder that becomes a link out of the workspace is no way out.
	outside := t.TempDir()
	write(t, filepath.Join(outside, "SKILL.md"), "SECRET")
	if err := os.RemoveAll(filepath.Join(b.dir, "skills/bake")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.dir, "skills/bake")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Skill("bread"); err == nil || strings.Contains(err.Error(), b.dir) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := newBench(t, nil).Skill("x"); err == nil || err.Error() != `there is no skill "x": there are none` {
		t.Errorf("got %v", err)
	}
}

// BenchmarkLoad: five files and twenty skills, nothing changed; with a look at the disk and without.
func BenchmarkLoad(b *testing.B) {
	files := map[string]string{}
	for _, name := range names {
		files[name] = strings.Repeat("a rule\n", 500)
	}
	for i := range 20 {
		files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = "---\ndescription: x\n---\n"
	}
	w := newBench(b, files)
	w.pass(interval * 100)
	b.Run("look", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.pass(interval)
			w.Load()
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.Load()
		}
	})
}
