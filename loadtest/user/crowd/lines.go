package crowd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LinesOf counts the lines that tool calls have written.
func LinesOf(workspace string) (map[string]int, error) {
	var files []string
	for _, glob := range []string{linesFiles, AskedFiles} {
		some, err := filepath.Glob(filepath.Join(workspace, glob))
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
	}
	out := map[string]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("lines that were written: %w", err)
		}
		for line := range strings.Lines(string(b)) {
			out[strings.TrimSuffix(line, "\n")]++
		}
	}
	return out, nil
}
