package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	readBuffer = 64 << 10 // bytes
	keepBuffer = 1 << 20  // bytes; of a longer line the memory is given back
	headBytes  = 4 << 10  // what is kept of the beginning of a line that is too long
	tailBytes  = 1 << 10  // and of its end
)

// line is one line of the client, without its end.
type line struct {
	data []byte // valid until the next one; nil where long
	long bool
	head []byte // where long
	tail []byte // where long
}

// lines cuts a stream. A line above max is skipped as it comes.
type lines struct {
	r   *bufio.Reader
	max int
	buf []byte
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, readBuffer), max: limit}
}

// next reads a line. With an error there may be a last one, which had no end.
func (l *lines) next() (line, error) {
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		whole := err == nil
		data := l.buf
		if whole {
			data = trimEnd(data)
		}
		// A carriage return at the end of what has come may still turn out to be part of the line's end.
		if len(data) > l.max && (whole || len(bytes.TrimSuffix(data, []byte{'\r'})) > l.max) {
			return l.skip(data, whole, err)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return line{data: trimEnd(data)}, err
	}
}

func trimEnd(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\r'})
}

// skip reads on to the end of the line and keeps its ends only.
func (l *lines) skip(data []byte, whole bool, err error) (line, error) {
	out := line{long: true, head: bytes.Clone(data[:min(len(data), headBytes)])}
	out.tail = keepTail(nil, data)
	for !whole && errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		out.tail = keepTail(out.tail, part)
		whole = err == nil
	}
	out.tail = trimEnd(out.tail)
	return out, err
}

func keepTail(tail, part []byte) []byte {
	if len(part) >= tailBytes {
		return append(tail[:0], part[len(part)-tailBytes:]...)
	}
	tail = append(tail, part...)
	if over := len(tail) - tailBytes; over > 0 {
		tail = append(tail[:0], tail[over:]...)
	}
	return tail
}
