package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// BenchmarkBuild: 500 finished turns of about 500 bytes, which is what the fold keeps at most.
func BenchmarkBuild(b *testing.B) {
	words := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 5)
	input := func(tools, window int) prompt.Input {
		in := prompt.Input{
			Window: window, Instructions: words, Files: []prompt.File{{Name: "AGENTS.md", Text: strings.Repeat(words, 4)}},
			Tools: []model.Tool{{Name: "read_file", Description: words, Parameters: []byte(`{"type":"object"}`)}},
		}
		for i := range 500 {
			if tools > 0 && i%tools == 0 {
				in.State.Past = append(in.State.Past, looked(fmt.Sprint("t", i), words+words))
			} else {
				in.State.Past = append(in.State.Past, chat(fmt.Sprint("t", i), words, words))
			}
		}
		in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, words)}}
		return in
	}
	for _, c := range []struct {
		name          string
		tools, window int
	}{
		{"window=32k/talk", 0, 0},
		{"window=32k/tools", 2, 0},
		{"window=200k/talk", 0, 200_000},
		{"window=200k/some-tools", 10, 200_000},
		{"window=200k/tools", 1, 200_000},
	} {
		in := input(c.tools, c.window)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				prompt.Build(in)
			}
		})
	}
}

func BenchmarkTokens(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		prompt.Tokens(text)
	}
}
