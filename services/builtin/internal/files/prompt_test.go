package files

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// promptBench has every way to a prompt file that a file system offers.
func promptBench(t *testing.T) *bench {
	b := newBench(t, map[string]string{
		"AGENTS.md": "not agents", "docs/user.md": "not user", "docs/free.md": "not bound", "skills/one/SKILL.md": "not one",
		"library/two/SKILL.md": "not two", "library/two/more/part.md": "not part", "shared/three.md": "not three", "notes/free.md": "not bound",
		"skills/one/data.txt": "not data",
	})
	b.link("USER.md", "docs/user.md")
	b.link("SOUL.md", "docs/soul.md") // which is not there
	b.link("toagents", "AGENTS.md")
	b.link("deep/er/toagents", "../../toagents")
	b.hardlink("hard.md", "AGENTS.md")
	b.hardlink("harduser.md", "docs/user.md")
	b.hardlink("hardskill.txt", "skills/one/data.txt")
	b.link("toskills", "skills")
	b.link("skills/two", "../library/two")
	b.mkdir("skills/three")
	b.link("skills/three/SKILL.md", "../../shared/three.md")
	return b
}

func TestPromptFilesNeedAPerson(t *testing.T) {
	for path, leads := range map[string]string{
		"AGENTS.md": "AGENTS.md", "./AGENTS.md": "AGENTS.md", "docs/../AGENTS.md": "AGENTS.md", "agents.MD": "agents.MD", "Soul.md": "Soul.md",
		"TOOLS.md": "TOOLS.md", "MEMORY.md": "MEMORY.md", "USER.md": "docs/user.md", "docs/user.md": "docs/user.md", "SOUL.md": "docs/soul.md",
		"docs/soul.md": "docs/soul.md", "toagents": "AGENTS.md", "deep/er/toagents": "AGENTS.md", "hard.md": "hard.md", "harduser.md": "harduser.md",
		"hardskill.txt": "hardskill.txt", "skills/one/SKILL.md": "skills/one/SKILL.md", "skills/new/SKILL.md": "skills/new/SKILL.md",
		"SKILLS/new/SKILL.md": "SKILLS/new/SKILL.md", "toskills/new/SKILL.md": "skills/new/SKILL.md", "skills/two/SKILL.md": "library/two/SKILL.md",
		"library/two/SKILL.md": "library/two/SKILL.md", "library/two/more/part.md": "library/two/more/part.md",
		"library/two/new.md": "library/two/new.md", "shared/three.md": "shared/three.md", "skills/x": "skills/x",
	} {
		t.Run(path, func(t *testing.T) {
			b := promptBench(t)
			was := b.has(leads)
			b.refused("write_file", args{"path": path, "content": "new"}, "no person has allowed")
			b.refused("write_file", args{"path": path, "content": "new", "append": true}, "no person has allowed")
			if was != "(none)" {
				b.refused("edit_file", args{"path": path, "old": "not", "new": "now"}, "no person has allowed")
			}
			b.wants(leads, was)
			b.allowed = true
			b.ok("write_file", args{"path": path, "content": "new"})
			b.wants(leads, "new")
		})
	}
}

func TestOtherFilesNeedNobody(t *testing.T) {
	b := promptBench(t)
	for _, path := range []string{
		"docs/free.md", "docs/AGENTS.md", "notes/free.md", "AGENTS.md.bak", "xAGENTS.md", "library/one.md", "shared/four.md", "my/skills/x", "skill",
	} {
		b.ok("write_file", args{"path": path, "content": "new"})
		b.wants(path, "new")
	}
	b.refused("remember", args{"text": "x"}, "no person has allowed")
	b.wants("MEMORY.md", "(none)")
}

func TestSkillsBeyondCounting(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a"})
	b.mkdir("skills/big")
	for i := range maxFenced + 2 {
		b.link("skills/big/"+strings.Repeat("x", 1+i%50)+strings.Repeat("y", i/50), "nowhere")
	}
	b.refused("write_file", args{"path": "a.txt", "content": "new"}, "no person has allowed") // it could be one of these
}

func TestFilesAsDecided(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one", "sub/b.txt": "two"})
	b.link("link", "sub/b.txt")
	b.link("out", "../outside/secret.txt")
	one, two := canonical.Digest([]byte("one")), canonical.Digest([]byte("two"))
	for _, c := range []struct {
		files []callv1.File
		ok    bool
	}{
		{nil, true},
		{[]callv1.File{{Path: "a.txt", Digest: one}}, true},
		{[]callv1.File{{Path: "a.txt", Digest: one}, {Path: "sub/b.txt", Digest: two}, {Path: "link", Digest: two}, {Path: "none"}, {Path: "no/folder/x"}}, true},
		{[]callv1.File{{Path: "a.txt", Digest: two}}, false},
		{[]callv1.File{{Path: "a.txt", Digest: strings.ToUpper(one)}}, false},
		{[]callv1.File{{Path: "a.txt"}}, false},                                              // has appeared
		{[]callv1.File{{Path: "none", Digest: one}}, false},                                  // has gone
		{[]callv1.File{{Path: "a.txt", Digest: one}, {Path: "sub/b.txt"}}, false},            // not the first one
		{[]callv1.File{{Path: "sub", Digest: ""}}, false},                                    // a folder
		{[]callv1.File{{Path: "../outside/secret.txt"}}, false},                              // no place to look
		{[]callv1.File{{Path: "out", Digest: canonical.Digest([]byte(outsideText))}}, false}, // nor by a link
	} {
		b.decided, b.allowed = c.files, true
		b.put("a.txt", "one")
		_, err := b.call("write_file", args{"path": "a.txt", "content": "new"})
		if c.ok != (err == nil) {
			t.Errorf("%v: %v", c.files, err)
		}
		if !c.ok {
			b.wants("a.txt", "one")
		}
	}
	// Also what changes while the call is carried out.
	b.put("a.txt", "one")
	b.decided = []callv1.File{{Path: "a.txt", Digest: one}}
	b.kit.landing = func() { b.put("a.txt", "uno") }
	b.refused("write_file", args{"path": "a.txt", "content": "new"}, "has changed since this was approved; read it again")
	b.wants("a.txt", "uno")
}

func TestPrivate(t *testing.T) {
	b := newBench(t, map[string]string{
		"USER.md": "word", "mem/real.md": "- word", "diary/2026/day.txt": "word", "keep/secret.txt": "word", "keep/free.txt": "word",
		"notes/free.txt": "word", "diary.txt": "word", "sub/USER.md": "word",
	})
	b.link("MEMORY.md", "mem/real.md")
	b.link("tocome", "diary/2026/day.txt")
	b.link("todir", "diary")
	b.link("diary/free", "../notes/free.txt")
	b.hardlink("hard", "USER.md")
	b.hardlink("hardday", "diary/2026/day.txt")
	b.hardlink("hardfree", "keep/free.txt")
	for path, want := range map[string]bool{
		"USER.md": true, "MEMORY.md": true, "mem/real.md": true, "diary/2026/day.txt": true, "keep/secret.txt": true, "tocome": true,
		"todir/2026/day.txt": true, "diary/free": true, "hard": true, "hardday": true, "DIARY/2026/day.txt": true,
		"notes/free.txt": false, "keep/free.txt": false, "diary.txt": false, "sub/USER.md": false, "hardfree": false,
	} {
		if path == "DIARY/2026/day.txt" {
			b.put(path, "word")
		}
		if r := b.ok("read_file", args{"path": path}); r.Private != want {
			t.Errorf("read_file %s: private is %v", path, r.Private)
		}
		if r := b.ok("search_files", args{"path": path, "pattern": "word"}); r.Private != want {
			t.Errorf("search_files %s: private is %v: %s", path, r.Private, r.Text)
		}
		if r := b.fails("edit_file", args{"path": path, "old": "none", "new": "x"}, ""); path == "keep/secret.txt" && !r.Private {
			t.Error("what edit_file says of a private file is not private")
		}
	}
	for path, want := range map[string]bool{"": false, "notes": false, "keep": false, "diary": true, "todir": true, "diary/2026": true} {
		if r := b.ok("list_dir", args{"path": path}); r.Private != want {
			t.Errorf("list_dir %s: private is %v", path, r.Private)
		}
	}
	if r := b.ok("list_dir", args{"depth": 2}); !r.Private {
		t.Error("a list with a private folder's entries is not private")
	}
	if r := b.ok("search_files", args{"pattern": "none at all"}); r.Private {
		t.Error("a search that found nothing is private")
	}
}

func TestReceived(t *testing.T) {
	b := newBench(t, map[string]string{
		"inbox/mail.txt": "word", "x/Downloads/y/page.txt": "word", "inbox.txt": "word", "own.txt": "word", "sub/inbox": "word",
	})
	b.link("tomail", "inbox/mail.txt")
	b.link("inbox/own", "../own.txt")
	check := func(what string, r tool.Result, want bool) {
		t.Helper()
		if r.Untrusted != want {
			t.Errorf("%s: untrusted is %v", what, r.Untrusted)
		}
	}
	for path, want := range map[string]bool{
		"inbox/mail.txt": true, "x/Downloads/y/page.txt": true, "tomail": true, "inbox/own": true,
		"inbox.txt": false, "own.txt": false, "sub/inbox": false,
	} {
		check("read_file "+path, b.ok("read_file", args{"path": path}), want)
		check("search_files "+path, b.ok("search_files", args{"path": path, "pattern": "word"}), want)
	}
	check("list_dir", b.ok("list_dir", args{}), true) // tomail leads there
	check("list_dir inbox", b.ok("list_dir", args{"path": "inbox"}), true)
	check("list_dir sub", b.ok("list_dir", args{"path": "sub"}), false)
	check("search_files", b.ok("search_files", args{"pattern": "word"}), true)
	check("search_files own", b.ok("search_files", args{"pattern": "word", "glob": "own.*"}), false)

	b.kit.owner++ // now all files are somebody else's
	check("read_file", b.ok("read_file", args{"path": "own.txt"}), true)
	check("search_files", b.ok("search_files", args{"path": "own.txt", "pattern": "word"}), true)
	check("list_dir", b.ok("list_dir", args{"path": "sub"}), true)
}
