package launch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// MaxLine is what one message of a server can have, in bytes.
const MaxLine = 16 << 20

// ErrLine ends the stream of a server that prints a line of more than MaxLine: where its next message begins is not known
// without reading to its end, and that may never come.
var ErrLine = fmt.Errorf("the server printed a line of more than %d MiB", MaxLine>>20)

const (
	chunk = 64 << 10
	keep  = 1 << 20 // a larger buffer is given back after its line
)

// messages are the lines of a stream that are JSON objects. Reading them one by one makes a program wait that prints faster
// than it is read.
type messages struct {
	file    io.ReadCloser
	in      *bufio.Reader
	rest    []byte // of the line that is being handed out
	long    []byte // a line that did not fit into in
	err     error  // what ended the stream
	dropped atomic.Int64
	first   func(line []byte) // is told of the first line that is dropped
}

func newMessages(file io.ReadCloser, first func([]byte)) *messages {
	return &messages{file: file, in: bufio.NewReaderSize(file, chunk), first: first}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.next()
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messages) Close() error {
	m.file.Close()
	return nil
}

// next reads one line; rest stays empty if it was no message.
func (m *messages) next() {
	line, err := m.line()
	switch {
	case errors.Is(err, os.ErrClosed):
		m.err = io.EOF
		return
	case err != nil:
		m.err = err
		if !errors.Is(err, io.EOF) {
			return
		}
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] != '{' || !json.Valid(line) {
		if m.dropped.Add(1) == 1 {
			m.first(line)
		}
		return
	}
	line = append(line, '\n') // over its own ending, unless the stream ended without one
	m.rest = line
}

// line is good until the next call.
func (m *messages) line() ([]byte, error) {
	if cap(m.long) > keep {
		m.long = nil
	}
	m.long = m.long[:0]
	for {
		part, err := m.in.ReadSlice('\n')
		if err == nil && len(m.long) == 0 {
			return part, nil
		}
		if len(m.long)+len(part) > MaxLine {
			return nil, ErrLine
		}
		m.long = append(m.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return m.long, err
		}
	}
}
