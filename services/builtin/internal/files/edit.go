package files

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

func (k *kit) edit(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[editArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if args.Old == "" {
		return tool.Result{}, tool.Refuse("old is empty; write_file makes a new file or adds to one")
	}
	if lf(args.Old) == lf(args.New) {
		return tool.Result{}, tool.Refuse("old and new are the same text")
	}
	return k.change(ctx, c, args.Path, func(p *place) ([]byte, fs.FileInfo, string, error) {
		data, info, err := p.content(maxWhole)
		if err != nil {
			return nil, nil, "", err
		}
		if !isText(data) {
			return nil, nil, "", tool.Refuse("%s is a binary file: %s, %d bytes", show(p.asked), kindOf(data), len(data))
		}
		text, had := bytes.CutPrefix(data, []byte(mark))
		out, lines, err := substitute(string(text), args)
		if err != nil {
			return nil, nil, "", err
		}
		if had {
			out = mark + out
		}
		said := fmt.Sprintf("changed %s at line %d", show(p.asked), lines[0])
		if len(lines) > 1 {
			said = fmt.Sprintf("changed %s in %d places, at lines %s", show(p.asked), len(lines), enumerate(lines))
		}
		return []byte(out), info, said, nil
	})
}

// substitute is text with new for old, and the lines where old was.
//
// Passages are looked for in the text as a model sees it, with \n for \r\n, and what takes their place gets the line ends
// that the passage had, or those of most of the text: a file keeps its line ends whatever the model writes.
func substitute(text string, args editArgs) (out string, lines []int, err error) {
	flat, old := lf(text), lf(args.Old)
	found := occurrences(flat, old, !args.All)
	if len(found) == 0 {
		return "", nil, &mismatch{"old is not in " + show(args.Path) + " in these words" + nearest(flat, old)}
	}
	line, seen := 1, 0
	for _, at := range found {
		line += strings.Count(flat[seen:at], "\n")
		lines, seen = append(lines, line), at
	}
	if len(found) > 1 && !args.All {
		return "", nil, &mismatch{fmt.Sprintf("old is more than once in %s, at lines %s: add the lines around the one that you mean, or set all",
			show(args.Path), enumerate(lines))}
	}
	raw := restore(text)
	mostly := strings.Count(text, "\r\n")*2 > strings.Count(text, "\n")
	var b strings.Builder
	end := 0
	for _, at := range found {
		from, to := raw(at), raw(at+len(old))
		passage := text[from:to]
		b.WriteString(text[end:from])
		crlf := strings.Contains(passage, "\r\n")
		if !strings.Contains(passage, "\n") {
			crlf = mostly
		}
		if crlf {
			b.WriteString(strings.ReplaceAll(lf(args.New), "\n", "\r\n"))
		} else {
			b.WriteString(lf(args.New))
		}
		end = to
	}
	b.WriteString(text[end:])
	return b.String(), lines, nil
}

func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// restore gives, for a place in lf(text), the place in text.
func restore(text string) func(int) int {
	var gone []int // places in lf(text) of each \n that was \r\n
	for at := 0; ; {
		i := strings.Index(text[at:], "\r\n")
		if i < 0 {
			break
		}
		gone = append(gone, at+i-len(gone))
		at += i + 2
	}
	return func(at int) int { return at + sort.SearchInts(gone, at) }
}

// occurrences are where old is in text. With overlaps, those are told too that overlap another.
func occurrences(text, old string, overlaps bool) (found []int) {
	step := len(old)
	if overlaps {
		step = 1
	}
	for at := 0; at <= len(text); {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		found = append(found, at+i)
		at += i + step
		if overlaps && len(found) == maxTold+1 {
			break // enough to tell
		}
	}
	return found
}

// maxTold is how many lines are named.
const maxTold = 20

func enumerate(lines []int) string {
	var b strings.Builder
	for i, line := range lines {
		switch {
		case i == maxTold:
			return b.String() + " and more"
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
	}
	return b.String()
}
