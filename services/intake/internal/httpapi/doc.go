// Package httpapi is the HTTP channel: messages in by POST, replies by long poll, the journal of a session as
// server-sent events.
//
//	POST /v1/messages                       {"session","text","idempotency_key"} → 202 {"message_id","session","cursor"}
//	GET  /v1/messages/{message_id}/reply    ?wait=30s (at most 120s) &until=answer → 200 {"status","text",…}
//	GET  /v1/sessions/{session}/events      ?since=CURSOR&live=1 → text/event-stream, id: is the cursor
//	POST /v1/sessions/{session}/stop        → 202 {"message_id","session","cursor"}
//	POST /v1/sessions/{session}/control     {"verb","argument","idempotency_key"} → 202 {"message_id","session","cursor"}
//	GET  /v1/approvals                      ?session=NAME → 200 {"approvals":[…]}, those that are open
//	GET  /v1/approvals/{approval}           → 200 {"approval","session","status","tool","shown","why","expires","approvers",…}
//	POST /v1/approvals/{approval}           {"decision","reason","idempotency_key"} → 200 {"approval","status","text"}
//	GET  /healthz                           → 200, without a token
//
// While a call of the turn waits for a person, the status of a reply is awaiting_approval, with "approvals":
// [{"id","expires","text"}]. A question that waits is answered as soon as that is so; until=answer goes on waiting for the
// answer, and tells of approvals only when the time is over.
//
// A command (stop, new, compact, model, queue, status, approve, deny) has a reply as a message has. That of a stop is completed once there
// is nothing more to stop; what it took out of the session is cancelled.
//
// # Approvals
//
// A decision is allow-once, allow-always or deny; a reason goes with deny. It is submitted as http:<token name> to the
// session of the approval, through the same gate as "/approve" and "/deny", and the answer waits for what becomes of it:
//
//	200  "decided": it counts, or says what was decided already
//	202  "pending": it is in the journal, and its outcome did not come within Config.DecisionWait
//	400  it is not possible: "allow-always" where a call can be allowed once only, a reason that is too long
//	403  this token is not among the approvers
//	404  there is no such approval, or none that this token may know of
//	409  somebody has decided otherwise
//	410  it is over: expired, cancelled with its turn, or void since the policy has changed (kind "conflict")
//
// The list has the approvals of the token's own sessions. Where many are open it is cut ("cut": true); with ?session= only
// that session counts. One by its id is shown to the token that owns its session and to
// those that are among its approvers, who may decide in sessions of others, too; to all others it is not there.
//
// # Who may do what
//
// A bearer token has a name, and reaches the sessions main.http.<name>.* and no others (but for deciding, as above); a
// session is written as its last part or as the full id. It listens on
// loopback, or with a certificate elsewhere, too; answers only to Hosts that it knows (a web
// page that rebinds its name to 127.0.0.1 is none) and sends no CORS headers.
//
// Every error is {"error","kind"} with a status that follows from the kind, 410 apart. What a client sends is bounded before it is
// read; a client that does not read is cut after Config.Stall and resumes by Last-Event-ID.
package httpapi
