package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// settled is how old a change has to be before the time of the last change is proof that there was none since: clocks of
// file systems have ticks.
const settled = 2 * time.Second

// entry is one file as it was read last. The zero value, with its path, is a file that is not there.
type entry struct {
	path    string
	info    fs.FileInfo // of what text was read from; nil: look again
	there   bool        // and could be read
	text    string
	left    int // bytes that are not in text
	problem string
}

// refresh looks at the file and reads it when it may have changed, at most limit bytes of it. It says whether the entry is
// another one now.
func (e *entry) refresh(root *os.Root, now time.Time, limit int) bool {
	info, err := root.Stat(e.path)
	if err == nil && same(e.info, info) {
		return false
	}
	next := entry{path: e.path}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		next.problem = reason(err)
		if link, err := root.Lstat(e.path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			next.problem = "a link that leads to no file in the workspace: " + next.problem
		}
	case !info.Mode().IsRegular():
		next.problem = notRegular
	default:
		if next.text, next.left, err = read(root, e.path, limit); err != nil {
			next.problem = reason(err)
			break
		}
		next.there = true
		if now.Sub(info.ModTime()) > settled {
			next.info = info
		}
	}
	changed := next.text != e.text || next.left != e.left || next.problem != e.problem || next.there != e.there
	*e = next
	return changed
}

// same says whether nothing has changed between a and b. A nil a is never the same.
func same(a, b fs.FileInfo) bool {
	return a != nil && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode() && os.SameFile(a, b)
}

const notRegular = "not a regular file"

var errNotRegular = errors.New(notRegular)

// read is the beginning of a file as clean text, and how many bytes of it are left out. The file may be replaced at any
// time, by a pipe too: opening does not wait, and what was opened is looked at again.
func read(root *os.Root, path string, limit int) (text string, left int, err error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, errNotRegular
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+utf8.UTFMax))
	if err != nil {
		return "", 0, err
	}
	if len(data) == limit+utf8.UTFMax {
		data = whole(data)
	}
	text, left = cut(clean(string(data)), limit)
	return text, left + max(0, int(info.Size())-len(data)), nil
}

// whole is data without the beginning of a character at its end.
func whole(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i > len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}

// clean is text without what is no text: other bytes, signs that control a terminal, the mark that some editors begin with.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), ""), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}

// cut is the beginning of text, at most limit bytes, up to the end of a line, and how many bytes are left out. A line that
// is longer than half of it all is cut in two.
func cut(text string, limit int) (head string, left int) {
	if len(text) <= limit {
		return text, 0
	}
	n := limit
	if line := strings.LastIndexByte(text[:n], '\n') + 1; line > n/2 {
		n = line
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], len(text) - n
}
