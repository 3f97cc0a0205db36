package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoModelIsShownASecret: what a person wrote into a file by mistake, and what looks like a key.
func TestNoModelIsShownASecret(t *testing.T) {
	const known, looks = "hunter22-and-more", "ghp_Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7j"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"AGENTS.md":             "The password is " + known + ".",
		"skills/probe/SKILL.md": "---\nname: probe\ndescription: asks with " + known + "\n---\nUse " + looks + " and " + known + ".\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(dir, known)
	if err != nil {
		t.Fatal(err)
	}
	files, skills, _ := w.Load()
	skill, err := w.Skill("probe")
	if err != nil || len(files) != 1 || len(skills) != 1 {
		t.Fatalf("%v, %v, %v", files, skills, err)
	}
	for where, text := range map[string]string{"file": files[0].Text, "description": skills[0].Description, "skill": skill} {
		if strings.Contains(text, known) || strings.Contains(text, looks) || text == "" {
			t.Errorf("%s: %q", where, text)
		}
	}
}
