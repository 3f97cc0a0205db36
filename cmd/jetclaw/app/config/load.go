package config

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"unicode/utf8"
)

// maxFile bounds the file, in bytes: what is larger is not a configuration, and the parser's time grows with the square.
const maxFile = 256 << 10

// byteOrderMark is what some editors begin a UTF-8 file with.
const byteOrderMark = "\uFEFF"

// Load reads a file. One that does not exist is the default configuration. A file that cannot be read, or is wrong, is an
// *Error; warnings come with a usable configuration only.
func Load(file string) (*Config, []Warning, error) {
	data, _, err := readFile(file, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		return nil, nil, &Error{Problems: []Problem{{File: file, Text: err.Error(), Hint: "see its owner and permissions"}}}
	}
	return Parse(file, data)
}

// Parse is Load on the bytes of a file; its name is used in errors.
func Parse(file string, data []byte) (*Config, []Warning, error) {
	c := Default()
	c.at = map[string]Position{}
	if !utf8.Valid(data) {
		return nil, nil, &Error{Problems: []Problem{{File: file, Text: "not UTF-8 text"}}}
	}
	d := &decoder{file: file, at: c.at}
	// The parser takes \r\n for two line breaks here and there, and places would be wrong.
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte(byteOrderMark)), []byte("\r\n"), []byte("\n"))
	d.document(data, c)
	c.allowNothing()
	unread := map[string]bool{}
	for _, p := range d.problems {
		unread[p.Path] = true
	}
	problems, warnings := c.Validate(file)
	for _, p := range problems {
		if !unread[p.Path] { // what could not be read has its default, or nothing, and says so already
			d.problems = append(d.problems, p)
		}
	}
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, Problem.Compare)
		return nil, nil, &Error{Problems: d.problems}
	}
	return c, warnings, nil
}
