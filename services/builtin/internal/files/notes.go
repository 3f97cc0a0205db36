package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

const (
	notesFile = "MEMORY.md"
	maxNote   = 500     // characters
	maxNotes  = 1 << 20 // bytes of the file
)

func (k *kit) remember(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[struct {
		Text string `json:"text"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	note := oneLine(args.Text)
	if n := utf8.RuneCountInString(note); n == 0 || n > maxNote {
		return tool.Result{}, tool.Refuse("a note has 1 to %d characters, this one has %d", maxNote, n)
	}
	return k.change(ctx, c, notesFile, func(p *place) ([]byte, fs.FileInfo, string, error) {
		var data []byte
		var info fs.FileInfo
		if p.info != nil {
			if data, info, err = p.content(maxNotes); err != nil {
				return nil, nil, "", err
			}
		}
		end := "\n"
		if bytes.Contains(data, []byte("\r\n")) {
			end = "\r\n"
		}
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(data, end...)
		}
		data = append(data, "- "+k.now().Format(time.DateOnly)+": "+note+end...)
		return data, info, "noted in " + notesFile, nil
	})
}

// oneLine is text with single spaces for all that could end a line or hide something.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}

func (k *kit) recall(_ context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[struct {
		Query string `json:"query"`
	}](c)
	if err != nil {
		return tool.Result{}, err
	}
	s, err := k.open(c)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.close()
	p, err := s.existing(notesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{Text: "[there are no notes yet]", Private: true}, nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer p.close()
	data, info, err := p.content(maxNotes)
	if err != nil {
		return tool.Result{}, explain(notesFile, err)
	}
	r := tool.Result{Private: true, Untrusted: s.foreign(p, info)}
	r.Text, r.Cut = matching(strings.ToValidUTF8(lf(strings.TrimPrefix(string(data), mark)), "\ufffd"), args.Query)
	return r, nil
}

// matching is the notes that have all words of the query, the oldest left out where they are too many.
func matching(text, query string) (string, int64) {
	words := strings.Fields(strings.ToLower(query))
	var found []string
	for _, note := range notes(text) {
		lower := strings.ToLower(note)
		has := true
		for _, w := range words {
			has = has && strings.Contains(lower, w)
		}
		if has {
			found = append(found, note)
		}
	}
	if len(found) == 0 && len(words) == 0 {
		return "[there are no notes yet]", 0
	}
	if len(found) == 0 {
		return "[no note has all of these words]", 0
	}
	first, size := len(found), 0
	for first > 0 && size+len(found[first-1])+1 <= maxRead {
		first--
		size += len(found[first]) + 1
	}
	out, cut := strings.Join(found[first:], "\n"), int64(0)
	for _, note := range found[:first] {
		cut += int64(len(note)) + 1
	}
	if first > 0 {
		out = fmt.Sprintf("[%d older notes are left out: ask with more words, or read_file %s]\n", first, notesFile) + out
	}
	return out, cut
}

// notes are the items of a text: a line, with the indented ones that follow it. Headings are none.
func notes(text string) (found []string) {
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			open = false
		case open && (line[0] == ' ' || line[0] == '\t'):
			found[len(found)-1] += "\n" + line
		default:
			found, open = append(found, line), true
		}
	}
	return found
}
