package actortest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt with what the machine does now")

// Files plays each of testdata/*.txt, a history as text that says what the machine did: play gets the text and returns
// it with what the machine does now. A difference fails the test; with -update the file is rewritten.
func Files(t *testing.T, play func(t *testing.T, script string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("the machine does something else now (go test -update rewrites the file):\n%s", got)
			}
		})
	}
}
