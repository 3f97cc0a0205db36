package provider

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errTooLarge says that an answer is over its size limit.
var errTooLarge = errors.New("the answer is too large")

// maxOther is how much of an answer that is no event stream is kept to show.
const maxOther = 4 << 10

// Events is a body reduced to what matters of an event stream: the data of each event, rewritten by dress for the API
// client that reads it. Each line of data is an event; half a line at the end is none. Comments (keep-alives), event
// names and ids are dropped, so that no client takes them for errors. It is bounded, and keeps the beginning of what is
// no event stream.
type Events struct {
	body  io.ReadCloser
	limit *io.LimitedReader
	lines *bufio.Reader
	dress func(data []byte) []byte // for Read: the bytes that the client is given for an event; its argument is valid until it returns
	begun bool                     // the first line was read
	rest  []byte                   // of what is being passed on
	other []byte
}

func newEvents(body io.ReadCloser, limit int64, dress func([]byte) []byte) *Events {
	l := &io.LimitedReader{R: body, N: limit}
	return &Events{body: body, limit: l, lines: bufio.NewReader(l), dress: dress}
}

// Next is the data of the next event, not dressed. It is valid until the next call.
func (e *Events) Next() ([]byte, error) {
	for {
		line, err := e.lines.ReadBytes('\n')
		whole := err == nil
		if !e.begun {
			e.begun, line = true, bytes.TrimPrefix(line, []byte("\uFEFF")) // a mark of the byte order may stand there
		}
		line = bytes.TrimSpace(line)
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		data = bytes.TrimSpace(data)
		switch {
		case isData && whole && len(data) > 0:
			return data, nil
		case !isData && !field(line):
			e.other = append(e.other, line[:min(len(line), maxOther-len(e.other))]...)
		}
		if errors.Is(err, io.EOF) && e.limit.N <= 0 {
			return nil, errTooLarge
		}
		if err != nil {
			return nil, err
		}
	}
}

// Read passes on the next event as the API client wants it, or a part of it.
func (e *Events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		data, err := e.Next()
		if err != nil {
			return 0, err
		}
		e.rest = e.dress(data)
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// Close closes the body.
func (e *Events) Close() error { return e.body.Close() }

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
