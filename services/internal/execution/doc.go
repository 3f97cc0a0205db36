// Package execution is the pure machine of executors (services/builtin, services/mcp): it claims each call that was dispatched to it, has it carried out,
// and says what became of it. Each call is a part of its session (machine.View.Part) with a claim of its own, so that the
// calls of one step run side by side. The part "" is all calls, one after the other: it takes on what has lost its own bell.
//
//	dispatched ──started{1}──► open ──completed──► gone
//	                            │  owner gone (it is asked, also past the deadline, which is of its clock):
//	                            ├── may be repeated: started{n+1}
//	                            └── else: completed{unknown}
//	turn.cancelled: open ──completed{cancelled}──► gone; what was not started is dropped
//
// What an open claim asks a person (call.asked) moves nothing: the machine keeps the last question and its end for whoever asks.
//
// Invariants:
//
//   - A call is carried out only under a claim that this very run of its lane has appended, once.
//   - A claim that somebody else appended may have had its effect: it is repeated only if the tool says that it may be,
//     and Attempts times at most. Else the outcome is unknown, and that is what the model is told.
//   - Nothing is started after the turn has ended. What runs then is ended, and its outcome is cancelled.
//   - Every claim is closed by one call.completed.
//   - A bell of part "", a timer's or that of a turn's end, is enough for all that is open: what nobody has started for a
//     while is started, and a claim whose owner is gone is closed. What has its own bell has been started by then. It is
//     acked when no call is open.
package execution
