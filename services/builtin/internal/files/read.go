package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

const (
	maxRead  = 56 << 10 // bytes of a file in one answer
	headSize = 8 << 10  // bytes that decide whether a file is text
	maxCount = 16 << 20 // bytes of a file whose lines are counted for the note
)

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
	Skip   int    `json:"skip"`
}

func (k *kit) read(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := tool.Read[readArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if args.Offset < 0 || args.Limit < 0 || args.Skip < 0 {
		return tool.Result{}, tool.Refuse("offset, limit and skip cannot be negative")
	}
	args.Offset = max(args.Offset, 1)
	s, err := k.open(c)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.close()
	p, err := s.existing(args.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer p.close()
	f, info, err := p.file()
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	defer f.Close()
	g := pager{ctx: ctx, in: bufio.NewReaderSize(f, maxRead+len(mark)), size: info.Size(), line: 1}
	r, err := g.page(show(p.asked), args)
	if err != nil {
		return tool.Result{}, explain(p.asked, err)
	}
	r.Private, r.Untrusted = s.secret().holds(p), s.foreign(p, info)
	return r, nil
}

// pager gives a piece of a text. All its pieces, one after the other, are the text: without the mark at its beginning, and
// with \n for \r\n, which models do not see and do not write.
type pager struct {
	ctx  context.Context //nolint:containedctx // lives as long as one call
	in   *bufio.Reader   // its buffer holds more than a piece: a line that does not fit in it fits in no piece
	size int64
	done int64 // bytes of the file that are behind
	line int   // that in stands in
}

func (g *pager) page(name string, args readArgs) (tool.Result, error) {
	head, err := g.in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Result{}, err
	}
	if !isText(wholeIf(len(head) == headSize, head)) {
		return tool.Result{Text: fmt.Sprintf("[%s is a binary file: %s, %d bytes. It cannot be shown as text.]", name, kindOf(head), g.size)}, nil
	}
	if len(head) == 0 {
		if args.Offset > 1 || args.Skip > 0 {
			return tool.Result{Text: name + " is empty", Failed: true}, nil
		}
		return tool.Result{Text: "[the file is empty]"}, nil
	}
	if bytes.HasPrefix(head, []byte(mark)) {
		g.drop(len(mark))
	}
	if err := g.seek(args.Offset); err != nil {
		return tool.Result{}, err
	}
	if _, err := g.in.Peek(1); errors.Is(err, io.EOF) {
		return tool.Result{Text: fmt.Sprintf("%s has only %d lines", name, g.line-1), Failed: true}, nil
	}
	skipped, err := g.skip(args.Skip)
	if err != nil {
		return tool.Result{}, err
	}
	if !skipped {
		return tool.Result{Text: fmt.Sprintf("line %d of %s has no %d bytes to skip", args.Offset, name, args.Skip), Failed: true}, nil
	}
	return g.collect(args)
}

// wholeIf is head without half a character at its end when it was cut there.
func wholeIf(cut bool, head []byte) []byte {
	if cut {
		return wholeRunes(head)
	}
	return head
}

func (g *pager) drop(n int) {
	n, _ = g.in.Discard(n) // of what is in the buffer
	g.done += int64(n)
}

// seek goes to the beginning of a line, or to the end of the file.
func (g *pager) seek(line int) error {
	for g.line < line {
		chunk, err := g.in.ReadSlice('\n')
		g.done += int64(len(chunk))
		switch {
		case err == nil:
			g.line++
		case errors.Is(err, io.EOF):
			if len(chunk) > 0 {
				g.line++
			}
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		if g.ctx.Err() != nil {
			return context.Cause(g.ctx)
		}
	}
	return nil
}

// skip leaves out the first n bytes of the line. It says whether the line has them.
func (g *pager) skip(n int) (bool, error) {
	for n > 0 {
		chunk, err := g.in.Peek(min(n, maxRead))
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if len(chunk) == 0 || bytes.IndexByte(chunk, '\n') >= 0 {
			return false, nil
		}
		n -= len(chunk)
		g.drop(len(chunk))
		if g.ctx.Err() != nil {
			return false, context.Cause(g.ctx)
		}
	}
	return true, nil
}

// collect takes lines until one is too much.
func (g *pager) collect(args readArgs) (tool.Result, error) {
	var text strings.Builder
	first := g.line
	for {
		if args.Limit > 0 && g.line-first == args.Limit {
			if _, err := g.in.Peek(1); errors.Is(err, io.EOF) {
				return tool.Result{Text: text.String()}, nil
			}
			return g.note(text.String(), first, false)
		}
		chunk, err := g.in.Peek(maxRead)
		if err != nil && !errors.Is(err, io.EOF) {
			return tool.Result{}, err
		}
		if len(chunk) == 0 {
			return tool.Result{Text: text.String()}, nil
		}
		n := bytes.IndexByte(chunk, '\n') + 1
		switch {
		case n > 0:
		case err != nil: // the last line, without an end
			n = len(chunk)
		case text.Len() > 0: // begins here and does not fit
			return g.note(text.String(), first, true)
		default:
			return g.long(chunk, args)
		}
		line := chunk[:n]
		if text.Len()+n > maxRead {
			return g.note(text.String(), first, true)
		}
		if !isText(line) {
			return g.bad(text.String())
		}
		if end, ok := bytes.CutSuffix(line, []byte("\r\n")); ok {
			text.Write(end)
			text.WriteByte('\n')
		} else {
			text.Write(line)
		}
		g.drop(n)
		g.line++
	}
}

// note ends a piece that has whole lines.
func (g *pager) note(text string, first int, cut bool) (tool.Result, error) {
	last, left := g.line-1, g.size-g.done
	of := fmt.Sprintf("%d more bytes follow", left)
	if g.size <= maxCount {
		if err := g.seek(math.MaxInt); err != nil {
			return tool.Result{}, err
		}
		of = fmt.Sprintf("of %d", g.line-1)
	}
	r := tool.Result{Text: text + fmt.Sprintf("[lines %d-%d; %s; go on with offset %d]", first, last, of, last+1)}
	if cut {
		r.Cut = max(left, 0)
	}
	return r, nil
}

// long is a piece of a line that does not fit in one.
func (g *pager) long(chunk []byte, args readArgs) (tool.Result, error) {
	piece := wholeRunes(chunk)
	if piece[len(piece)-1] == '\r' {
		piece = piece[:len(piece)-1] // half of a line's end, perhaps
	}
	if !isText(piece) {
		return g.bad("")
	}
	text := fmt.Sprintf("%s\n[line %d is cut here; go on with offset %d and skip %d]", piece, g.line, g.line, args.skipped(g.line)+len(piece))
	return tool.Result{Text: text, Cut: max(g.size-g.done-int64(len(piece)), 0)}, nil
}

// skipped is how many bytes of a line were left out in front.
func (a readArgs) skipped(line int) int {
	if line == a.Offset {
		return a.Skip
	}
	return 0
}

// bad ends a piece before a line that is no text.
func (g *pager) bad(text string) (tool.Result, error) {
	return tool.Result{
		Text: fmt.Sprintf("%s[line %d is no text (not UTF-8, or with NUL) and is not shown; go on with offset %d]", text, g.line, g.line+1),
		Cut:  max(g.size-g.done, 0),
	}, nil
}
