// Package delivery is the pure machine of the outbox: what is still to be shown in one session, in which order, and
// what is to be done about the first of it.
//
//	            ┌──────────── sent ───────────────┐
//	            │ (mailbox)                       ▼
//	pending ──started──► started ──sent/failed──► gone from the state
//	                      │   ▲                   ▲
//	          deferred ◄──┤   ├── started{n+1}    │ attempts or time used up: failed
//	          unknown  ◄──┘   └── started{n+1, repeat}
//	             └── unknown{resend: false}: held ┘
//
// The queue is ordered (journal order of the events that carry something to show), lossless and as long as the backlog;
// what is finished leaves it. Invariants:
//
//   - Only the head moves. The item behind it is first touched when the head is sent, failed or held.
//   - On a push channel an attempt is claimed before the channel is called, and a second attempt of an item is claimed
//     only after the first was deferred (it did not arrive) or unknown (it may have arrived).
//   - Once an attempt of an item is unknown, all later attempts of that item are marked as repeats.
//   - An outcome that does not answer the open attempt of the head is dropped.
//   - Every item ends: attempts are counted, each has a deadline, and MaxAge bounds how long an item may hold up those
//     behind it.
package delivery
