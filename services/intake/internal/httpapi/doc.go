// Package httpapi is the HTTP channel: messages in by POST, replies by long poll, the journal of a session as
// server-sent events.
//
//	POST /v1/messages                       {"session","text","idempotency_key"} → 202 {"message_id","session","cursor"}
//	GET  /v1/messages/{message_id}/reply    ?wait=30s (at most 120s) → 200 {"status","text",…}
//	GET  /v1/sessions/{session}/events      ?since=CURSOR&live=1 → text/event-stream, id: is the cursor
//	POST /v1/sessions/{session}/stop        → 202 {"message_id","session","cursor"}
//	POST /v1/sessions/{session}/control     {"verb","argument","idempotency_key"} → 202 {"message_id","session","cursor"}
//	GET  /healthz                           → 200, without a token
//
// A command (stop, new, compact, model, queue, status) has a reply as a message has. That of a stop is completed once there
// is nothing more to stop; what it took out of the session is cancelled.
//
// Who may do what: a bearer token has a name, and reaches the sessions main.http.<name>.* and no others; a session is
// written as its last part or as the full id. It listens on loopback, answers only to Hosts that it knows (a web page
// that rebinds its name to 127.0.0.1 is none) and sends no CORS headers.
//
// Every error is {"error","kind"} with a status that follows from the kind. What a client sends is bounded before it is
// read; a client that does not read is cut after Config.Stall and resumes by Last-Event-ID.
package httpapi
