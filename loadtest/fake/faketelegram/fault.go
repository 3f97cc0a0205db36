package faketelegram

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Fault is how calls go wrong. Its zero value is a 502 of the next call, with Telegram's JSON.
type Fault struct {
	Method string // "" any; "file" a download
	Chat   int64  // 0 any
	Times  int    // how many calls; 0: one, less: until Heal

	Delay time.Duration // before anything else; with nothing else said the call is answered as ever, later
	// After: the call is performed, and only its answer is lost: a message that was to be sent is there.
	After bool

	// What comes instead of the answer, one of:
	Close       bool   // the connection is closed without a byte
	HTML        bool   // a web page, as from a proxy, with Status (default 502)
	Garbage     bool   // 200, and half of something
	Status      int    // Telegram's JSON with this error_code
	Description string // beside Status; default: the status in words
	RetryAfter  int    // parameters.retry_after, in seconds
	MigrateTo   int64  // parameters.migrate_to_chat_id
}

// Fail arranges a fault. Those that were arranged first come first.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = orElse(f.Times, 1)
	s.faults = append(s.faults, &f)
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault is what a call is to suffer, or nil.
func (s *Server) fault(q *query) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times == 0 || f.Method != "" && !strings.EqualFold(f.Method, q.name) || f.Chat != 0 && f.Chat != q.int("chat_id") {
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		s.count.faults++
		return f
	}
	return nil
}

// slowOnly: a delay, and nothing else.
func (f *Fault) slowOnly() bool {
	return f.Delay > 0 && !f.After && !f.Close && !f.HTML && !f.Garbage && f.Status == 0
}

// spoiled says how a download goes wrong, if it does.
func (s *Server) spoiled(q *query) (response, bool) {
	f := s.fault(q)
	switch {
	case f == nil:
		return response{}, false
	case !s.pause(q.ctx, f.Delay):
		return response{gone: true}, true
	case f.slowOnly():
		return response{}, false
	}
	return f.response(), true
}

func (f *Fault) response() response {
	status := orElse(f.Status, http.StatusBadGateway)
	switch {
	case f.Close:
		return response{gone: true}
	case f.HTML:
		page := fmt.Sprintf("<html>\r\n<head><title>%[1]d %[2]s</title></head>\r\n<body>\r\n<center><h1>%[1]d %[2]s</h1></center>\r\n"+
			"<hr><center>nginx/1.28.0</center>\r\n</body>\r\n</html>\r\n", status, http.StatusText(status))
		return response{status: status, body: []byte(page), kind: "text/html"}
	case f.Garbage:
		return response{status: http.StatusOK, body: []byte(`{"ok":true,"result":{"message_id":`)}
	}
	text := f.Description
	if text == "" && f.RetryAfter > 0 {
		text = fmt.Sprintf("Too Many Requests: retry after %d", f.RetryAfter)
	}
	return answer(nil, &refusal{
		code: status, text: orElse(text, http.StatusText(status)), retryAfter: f.RetryAfter, migrateTo: f.MigrateTo,
	})
}
