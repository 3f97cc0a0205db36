package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// errTooLarge says that an answer is over its size limit.
var errTooLarge = errors.New("the answer is too large")

// maxOther is how much of an answer that is no event stream is kept to show.
const maxOther = 512

// events is a body reduced to what matters of an event stream: its data lines, each followed by an empty one. Comments
// (keep-alives), event names and ids are dropped, so that the client's reader does not take them for errors. It is
// bounded, and knows whether the stream came to its end.
type events struct {
	body  io.ReadCloser
	limit *io.LimitedReader
	lines *bufio.Reader
	rest  []byte // of the line being passed on
	done  bool   // "data: [DONE]" has come
	other []byte // the beginning of what is not a field of an event
}

func newEvents(body io.ReadCloser, limit int64) *events {
	l := &io.LimitedReader{R: body, N: limit}
	return &events{body: body, limit: l, lines: bufio.NewReader(l)}
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		line, err := e.lines.ReadBytes('\n')
		whole := err == nil
		line = bytes.TrimSpace(line)
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case isData && string(bytes.TrimSpace(data)) == "[DONE]":
			e.done = true
			e.rest = []byte("data: [DONE]\n")
		case isData && len(bytes.TrimSpace(data)) == 0:
		case isData && whole: // half a line is not an event
			e.rest = slices.Concat(line, []byte("\n\n"))
		case !isData && !field(line):
			e.other = append(e.other, line[:min(len(line), maxOther-len(e.other))]...)
		}
		if err != nil && len(e.rest) == 0 {
			if errors.Is(err, io.EOF) && e.limit.N <= 0 {
				return 0, errTooLarge
			}
			return 0, err
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// field says whether a line may stand in an event stream beside data.
func field(line []byte) bool {
	if len(line) == 0 || line[0] == ':' {
		return true
	}
	for _, name := range []string{"event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(name)) {
			return true
		}
	}
	return false
}

func (e *events) Close() error { return e.body.Close() }
