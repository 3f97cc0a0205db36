package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

// What the command lists is what lies there, and a second time it makes nothing new.
func TestKeysMakesAllThatIsMissing(t *testing.T) {
	u := newUser(t, "")
	r := u.run("keys", "--json")
	r.want(t, exitOK)
	var got struct {
		Folder string        `json:"folder"`
		Keys   []app.HomeKey `json:"keys"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(got.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(got.Keys) || len(files) < 5 {
		t.Errorf("%d files, %d listed", len(files), len(got.Keys))
	}
	content := map[string]string{}
	for _, k := range got.Keys {
		path := filepath.Join(got.Folder, k.File)
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", k.File, st.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[k.File] = string(data)
		if !k.Public && strings.Contains(r.stdout+r.stderr, strings.TrimSpace(string(data))) {
			t.Errorf("%s was printed", k.File)
		}
		if len(k.For) == 0 || k.What == "" {
			t.Errorf("%s: nobody needs it", k.File)
		}
	}
	again := u.run("keys")
	again.want(t, exitOK)
	for file, was := range content {
		if data, err := os.ReadFile(filepath.Join(got.Folder, file)); err != nil || string(data) != was {
			t.Errorf("%s is another one now (%v)", file, err)
		}
		if !strings.Contains(again.stdout, file) {
			t.Errorf("%s is not listed", file)
		}
	}
}
