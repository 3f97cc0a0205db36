package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// maxFile bounds the file, in bytes: what is larger is not a configuration.
const maxFile = 1 << 20

// Load reads a file. One that does not exist is the default configuration. A file that cannot be read, or is wrong, is an
// *Error; warnings come with a usable configuration only.
func Load(file string) (*Config, []Warning, error) {
	data, err := read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		return nil, nil, &Error{Problems: []Problem{{File: file, Text: err.Error(), Hint: "see its owner and permissions"}}}
	}
	return Parse(file, data)
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, pe.Err
		}
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %s", Bytes(maxFile))
	}
	return data, nil
}

// Parse is Load on the bytes of a file; its name is used in errors.
func Parse(file string, data []byte) (*Config, []Warning, error) {
	c := Default()
	c.at = map[string]Position{}
	if !utf8.Valid(data) {
		return nil, nil, &Error{Problems: []Problem{{File: file, Text: "not UTF-8 text"}}}
	}
	d := &decoder{file: file, at: c.at}
	d.document(data, c)
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
		return nil, nil, &Error{Problems: d.problems}
	}
	return c, warnings, nil
}
