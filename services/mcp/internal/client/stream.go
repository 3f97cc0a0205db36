package client

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// headerTime is how long the answer to the request for the stream of notifications may take. The SDK waits for it without a
// limit while it connects, and there are servers that answer when they have the first notification to send.
const headerTime = 2 * time.Second

// listen asks for the stream of notifications of a session, as GET. A server that does not offer it, in whatever way, loses nothing
// by that. One that answers late gets a stream that begins at once and is silent until then. A stream that was there and does not
// come back ends the session: the SDK sees to that.
func (s *screen) listen(req *http.Request) (*http.Response, error) {
	type answer struct {
		resp *http.Response
		err  error
	}
	ch := make(chan answer, 1)
	first := !s.listened.Swap(true)
	go func() { // it ends with the request's context or the connection
		resp, err := s.send(req) //nolint:bodyclose // by whoever takes the answer
		ch <- answer{resp, err}
	}()
	wait := time.NewTimer(headerTime)
	defer wait.Stop()
	select {
	case a := <-ch:
		if a.err == nil {
			a.resp, a.err = s.look(req, a.resp)
		}
		if a.err != nil && first && req.Context().Err() == nil {
			return streamed(req, http.StatusMethodNotAllowed, http.NoBody), nil
		}
		return a.resp, a.err
	case <-wait.C:
	}
	ctx, release := s.tied.tie(req.Context())
	out, in := io.Pipe()
	go func() {
		defer func() { _ = in.Close() }() // it never fails
		a := <-ch
		if a.err != nil {
			in.CloseWithError(a.err)
			return
		}
		defer a.resp.Body.Close()
		kind, _, _ := mime.ParseMediaType(a.resp.Header.Get("Content-Type"))
		if a.resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
			<-ctx.Done() // not offered: silence, as the SDK would try again and then end the session
			return
		}
		_, _ = io.Copy(in, a.resp.Body) // its end is the reader's matter
	}()
	return streamed(req, http.StatusOK, &body{ReadCloser: out, release: release}), nil
}

// streamed is an answer of our own.
func streamed(req *http.Request, status int, b io.ReadCloser) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"text/event-stream"}},
		Body:    b,
		Request: req,
	}
}
