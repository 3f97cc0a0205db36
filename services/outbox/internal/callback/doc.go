// Package callback pushes to a URL: the HTTP channel's way to be told instead of having to ask.
//
// One delivery attempt is one POST on a connection of its own, without redirects:
//
//	POST <url>
//	Authorization: Bearer <token>
//	Content-Type: application/json
//	Idempotency-Key: <delivery>
//
//	{"session":"main.http.web.anna","delivery":"…","attempt":1,"repeat":false,
//	 "kind":"turn.completed","text":"…","answers":["<message id>"]}
//
// What is about an approval has its id, too ("approval"); "kind" says what became of it: approval.requested asks a person,
// approval.decided, approval.expired and approval.voided say that the question is settled. Deciding takes a token of the
// HTTP channel that is among the approvers: the answer to a callback decides nothing.
//
// What the answer means:
//
//	2xx                                  it arrived. The receipt is the header "Receipt", else the string "receipt" of a
//	                                     JSON body, else the delivery id
//	408, 425, 429, 5xx                   it did not; Retry-After (seconds or a date) is heeded
//	other statuses, redirects included   it never will
//	no answer, request not written       it did not arrive: refused, no such host, bad TLS
//	no answer, request written           unknown: cut, timed out, or not HTTP
//
// A fresh connection for each attempt costs a handshake and saves two troubles: a kept one that the server has closed
// meanwhile would look like a request that was cut, and Go's transport would repeat it there by itself (it takes a request
// with an Idempotency-Key for one that may be repeated), unmarked and unrecorded.
//
// Nothing of the token, of the URL's path and query, or of the receiver's answer gets into an error.
package callback
