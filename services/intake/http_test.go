package intake

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBodiesThatAreNoRequests(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	for _, tc := range []struct {
		body   any
		status int
		want   string
	}{
		{[]byte(`{"session":"a","text":"b","txt":1}`), 400, `unknown field "txt"`},
		{[]byte(`{"session":"a","text":7}`), 400, "text"},
		{[]byte(`{"session":"a"`), 400, "ends too early"},
		{[]byte(``), 400, "empty"},
		{post{"", "b", ""}, 400, `"session" is missing`},
		{[]byte("{\"session\":\"a\xff\",\"text\":\"b\"}"), 400, "UTF-8"},
		{[]byte(`{"session":"a\ud800","text":"b"}`), 400, "UTF-8"},
		{[]byte(`{"session":"a","session":"c","text":"b"}`), 400, "twice"},
		{post{"a", "b", "no spaces"}, 400, "key"},
		{post{"a", "b", strings.Repeat("k", 257)}, 400, "key"},
		{post{"main.http.other.x", "b", ""}, 403, "not one of this token"},
		{make([]byte, 2<<20), 413, "at most"},
	} {
		var a answer
		resp := s.call(http.MethodPost, "/v1/messages", appToken, tc.body, &a)
		if resp.status != tc.status || !strings.Contains(a.Error, tc.want) || a.Kind == "" {
			t.Errorf("%.60v: %d %+v, want %d %q", tc.body, resp.status, a, tc.status, tc.want)
		}
	}
	if u, err := srv.Admin().Journal().Usage(t.Context()); err != nil || u.Messages != 0 {
		t.Errorf("the journal has %d events, %v", u.Messages, err)
	}
}

// TestBodyThatNeverComes: who announces a body and sends none is answered all the same, and does not hold up the end.
func TestBodyThatNeverComes(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	s.send(post{"default", "hello", ""})
	var wg sync.WaitGroup
	for request, want := range map[string]string{
		"POST /v1/messages HTTP/1.1": " 401 ",
		"POST /nothing HTTP/1.1":     " 404 ",
		"POST /v1/sessions/default/stop HTTP/1.1\r\nAuthorization: Bearer " + appToken:          " 202 ",
		"GET /v1/sessions/default/events?since=x HTTP/1.1\r\nAuthorization: Bearer " + appToken: " 400 ",
		"GET /v1/sessions/default/events HTTP/1.1\r\nAuthorization: Bearer " + appToken:         " 200 ",
	} {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "%s\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", request); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(drainLimit)); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, want) {
				t.Errorf("%s: %q, %v; want%s", request, line, err, want)
			}
		})
	}
	wg.Wait()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	mine := s.send(post{"default", "hello", ""})
	for _, tc := range []struct {
		method, path, token string
		status              int
	}{
		{http.MethodGet, "/healthz", "", 200},
		{http.MethodHead, "/healthz", "", 200},
		{http.MethodPost, "/healthz", "", 405},
		{http.MethodPost, "/v1/messages", "", 401},
		{http.MethodPost, "/v1/messages", appToken + "x", 401},
		{http.MethodGet, "/v1/messages", appToken, 405},
		{http.MethodOptions, "/v1/messages", appToken, 405},
		{http.MethodGet, "/v1/nothing", appToken, 404},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply", appToken, 200},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply", otherToken, 403},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply", "", 401},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "x/reply", appToken, 404},
		{http.MethodGet, "/v1/messages/main.http.app.never~mx/reply", appToken, 404},
		{http.MethodGet, "/v1/messages/m1/reply", appToken, 400},
		{http.MethodGet, "/v1/sessions/default/events?since=99999", appToken, 400}, // of another journal
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply?wait=30", appToken, 400},
		{http.MethodGet, "/v1/sessions/" + string(appSession) + "/events", otherToken, 403},
		{http.MethodGet, "/v1/sessions/default/events?since=x", appToken, 400},
		{http.MethodPost, "/v1/sessions/" + string(appSession) + "/stop", otherToken, 403},
		{http.MethodPost, "/v1/sessions/never/stop", appToken, 404},
		{http.MethodPost, "/v1/sessions/default/stop", appToken, 202},
		{http.MethodGet, "/v1/sessions/default/stop", appToken, 405},
	} {
		var a answer
		var into any = &a
		if tc.method == http.MethodHead {
			into = nil
		}
		resp := s.call(tc.method, tc.path, tc.token, nil, into)
		if resp.status != tc.status {
			t.Errorf("%s %s: %d %+v, want %d", tc.method, tc.path, resp.status, a, tc.status)
		}
		if resp.status >= 400 && (a.Error == "" || a.Kind == "" || resp.header.Get("Content-Type") != "application/json") {
			t.Errorf("%s %s: %+v", tc.method, tc.path, a)
		}
		if resp.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: a web page may read it", tc.method, tc.path)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example"
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign Host: %d", resp.StatusCode)
	}
}
