package turns_test

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// status answers with a status, a body and headers: name, value, name, value …
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// soon is a date for Retry-After.
func soon(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", time.Now().Add(3*time.Second).UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusTooManyRequests)
}

// statusKinds are answers other than 200.
func statusKinds(d dialect, thief string) []kind {
	body := d.body("no luck: \x1b[31m\u202e" + secretKey)
	refused := func(says string) want { return want{cause: turnv1.ModelRefused, says: says, asks: 1} }
	passing := func(says string) want { return want{cause: turnv1.ModelUnavailable, says: says, asks: 3} }
	kinds := []kind{
		{name: "status 204", play: status(204, ""), want: want{cause: turnv1.ModelGarbage, says: "without content (HTTP 204)", asks: 1}},
		{name: "status 201", play: status(201, d.answer("hi")), want: want{cause: turnv1.ModelGarbage, says: "(HTTP 201)", asks: 1}},
		{name: "status 304", play: status(304, ""), want: refused("redirects")},
		{name: "status 400", play: status(400, body), want: refused("refused the request (HTTP 400): no luck")},
		{name: "status 401", play: status(401, body), want: refused("does not accept the API key (HTTP 401): no luck")},
		{name: "status 402", play: status(402, body), want: refused("no credit (HTTP 402): no luck")},
		{name: "status 403", play: status(403, body), want: refused("(HTTP 403): no luck")},
		{name: "status 404", play: status(404, body), want: refused("does not know the model \"fake-1\" (HTTP 404)")},
		{name: "status 408", play: status(408, body), bad: 3, want: passing("(HTTP 408)")},
		{name: "status 409", play: status(409, body), want: refused("(HTTP 409)")},
		{name: "status 413 once", play: status(413, ""), want: want{text: better, asks: 2}},
		{
			name: "status 413 always", play: status(413, body), bad: -1,
			want: want{cause: turnv1.ContextOverflow, says: "too long for the model, even after it was shortened. Begin afresh with /new", asks: 3},
		},
		{name: "status 422", play: status(422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`), want: refused("(HTTP 422)")},
		{name: "status 429 once", play: status(429, body), want: want{text: better, asks: 2}},
		{name: "status 429", play: status(429, body), bad: 3, want: passing("takes no more requests for now (HTTP 429)")},
		{name: "status 429 for a second", play: status(429, body, "Retry-After", "2"), want: want{text: better, asks: 2, gap: 2 * time.Second}},
		{name: "status 429 until a date", play: soon, want: want{text: better, asks: 2, gap: 1500 * time.Millisecond}},
		{name: "status 429 for nonsense", play: status(429, body, "Retry-After", "soon"), want: want{text: better, asks: 2}},
		{name: "status 429 for less than nothing", play: status(429, body, "Retry-After", "-5"), want: want{text: better, asks: 2}},
		{name: "status 429 for NaN", play: status(429, body, "Retry-After", "NaN", "Retry-After-Ms", "-Inf"), want: want{text: better, asks: 2}},
		{
			name: "status 429 for an hour", play: status(429, body, "Retry-After", "3600"),
			want: want{cause: turnv1.ModelUnavailable, says: "Try again in 1h0m0s", asks: 1, held: "asks to be left alone until"},
		},
		{
			name: "status 503 for ever", play: status(503, body, "Retry-After", "999999999999999999999"), // not believed
			want: want{text: better, asks: 2},
		},
		{
			name: "status 429 without credit", play: status(429, `{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}`),
			want: refused("no credit (HTTP 429)"),
		},
		{name: "status 500", play: status(500, body), bad: 3, want: passing("(HTTP 500): no luck")},
		{name: "status 502 with a page", play: status(502, "<html><h1>Bad Gateway</h1></html>"), bad: 3, want: passing("(HTTP 502). Try again later")},
		{name: "status 503", play: status(503, "\x00\xff\x1b]0;title\x07"), bad: 3, want: passing("(HTTP 503)")},
		{name: "status 504", play: status(504, ""), bad: 3, want: passing("(HTTP 504)")},
		{name: "status 529", play: status(529, d.body("Overloaded")), bad: 3, want: passing("(HTTP 529): Overloaded")},
		{name: "status 529 twice", play: status(529, d.body("Overloaded")), bad: 2, want: want{text: better, asks: 3}},
		{name: "status 500 that never ends", play: endlessStatus, bad: 3, want: passing("(HTTP 500)")},
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		kinds = append(kinds, kind{
			name: fmt.Sprintf("status %d to another host", code), play: status(code, "", "Location", thief+"/v1/"+secretKey),
			want: refused("redirects to \"127.0.0.1:"),
		})
	}
	return kinds
}

// endlessStatus is an error with a body that does not end.
func endlessStatus(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	endless("", "no luck ", 0)(w, r)
}
