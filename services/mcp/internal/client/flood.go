package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// Bounds of what a server sends unasked, on one connection.
const (
	maxOpen    = 64        // requests that it has no answer to yet
	maxAtOnce  = 1000      // notifications
	perSecond  = 100       // of them, after that
	maxUnasked = 256 << 10 // bytes of the parameters of one
)

// flood bounds what a server sends unasked. The SDK keeps each request and notification until it has been handled, without a limit,
// and its answer to a request until the server reads that, which may be never. What is too much is dropped: who sends so much
// waits for none of it.
type flood struct {
	// lost is told of the methods of notifications that are dropped.
	lost func(method string)

	mu   sync.Mutex
	open int       // guarded by mu
	left float64   // guarded by mu; notifications that may come now
	at   time.Time // guarded by mu; when left was right
}

func newFlood() *flood { return &flood{lost: func(string) {}, left: maxAtOnce} }

// pass says whether a request (asks) or a notification with so many bytes of parameters may go on to the SDK.
func (f *flood) pass(method string, asks bool, size int) bool {
	f.mu.Lock()
	now := time.Now()
	if !f.at.IsZero() {
		f.left = min(maxAtOnce, f.left+now.Sub(f.at).Seconds()*perSecond)
	}
	f.at = now
	ok := size <= maxUnasked
	switch {
	case !ok:
	case asks:
		if ok = f.open < maxOpen; ok {
			f.open++
		}
	default:
		if ok = f.left >= 1; ok {
			f.left--
		}
	}
	f.mu.Unlock()
	if !ok && !asks {
		f.lost(method)
	}
	return ok
}

// answered says that an answer to a request has been sent, or that it could not be.
func (f *flood) answered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = max(0, f.open-1)
}

// sieve is an event stream without what is too much in it.
type sieve struct {
	io.Closer
	in    *bufio.Reader
	flood *flood
	event []byte // that is being read
	out   []byte // what of it was not handed out yet
	whole bool   // what comes is handed out as it comes: an event is longer than the SDK takes
	err   error
}

func newSieve(in io.ReadCloser, f *flood) io.ReadCloser {
	return &sieve{Closer: in, in: bufio.NewReader(in), flood: f}
}

func (s *sieve) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// next reads a line, or what of it there is. out stays empty while the event has not ended, or when it is dropped.
func (s *sieve) next() {
	line, err := s.in.ReadSlice('\n')
	s.event = append(s.event, line...)
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		s.err = err
	}
	s.whole = s.whole || len(s.event) > maxAnswer
	ends := len(bytes.TrimRight(line, "\r\n")) == 0 && (len(s.event) == len(line) || s.event[len(s.event)-len(line)-1] == '\n')
	if !ends && !s.whole && s.err == nil {
		return
	}
	if s.whole || !ends || s.passes() {
		s.out = s.event
	}
	s.event = nil
}

// passes says whether the event may go on to the SDK. What cannot be read may: the SDK says what is wrong with it.
func (s *sieve) passes() bool {
	var data []byte
	for line := range bytes.Lines(s.event) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, value...)
		}
	}
	var m map[string]json.RawMessage // not a struct: its names would be matched in any case of letters
	var method string
	if json.Unmarshal(data, &m) != nil || json.Unmarshal(m["method"], &method) != nil {
		return true
	}
	_, asks := m["id"]
	return s.flood.pass(method, asks, len(m["params"]))
}
