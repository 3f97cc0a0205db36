package httpguard

import (
	"net/http"
	"time"
)

// Writer is a ResponseWriter that cuts a client which does not read: what a Write brings, and the Flush after it, has to leave
// within the stall. After the first that does not, nothing more is written. Without it a stream may wait for its client for ever,
// with all that it holds; one write timeout for the whole answer would end every stream.
//
// It is as much, or as little, for use by several at a time as the writer that it wraps.
type Writer struct {
	next  http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
	armed bool // a Write has set the deadline, and no Flush came since
	err   error
}

// NewWriter wraps w; stall is more than 0. The next writer has to know write deadlines, as that of net/http does.
func NewWriter(w http.ResponseWriter, stall time.Duration) *Writer {
	return &Writer{next: w, rc: http.NewResponseController(w), stall: stall}
}

// Stalled gives every answer of next a Writer. What net/http writes after the handler has returned has the same time.
func Stalled(next http.Handler, stall time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sw := NewWriter(w, stall)
		next.ServeHTTP(sw, r)
		if sw.err == nil {
			_ = sw.arm() // the connection is gone: nothing will be written
		}
	})
}

// Header is the next writer's.
func (w *Writer) Header() http.Header { return w.next.Header() }

// WriteHeader sends nothing yet: net/http does so with the first bytes.
func (w *Writer) WriteHeader(status int) { w.next.WriteHeader(status) }

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.next }

func (w *Writer) Write(p []byte) (int, error) {
	if w.err == nil {
		w.err = w.arm()
	}
	if w.err != nil {
		return 0, w.err
	}
	w.armed = true
	n, err := w.next.Write(p)
	w.err = err
	return n, err
}

// FlushError is what http.ResponseController calls. It has what is left of the time of the Write before it.
func (w *Writer) FlushError() error {
	if w.err == nil && !w.armed {
		w.err = w.arm()
	}
	if w.err == nil {
		w.armed = false
		w.err = w.rc.Flush()
	}
	return w.err
}

// Flush is http.Flusher, for those that look for one.
func (w *Writer) Flush() { _ = w.FlushError() } // the next Write tells

func (w *Writer) arm() error { return w.rc.SetWriteDeadline(time.Now().Add(w.stall)) }
