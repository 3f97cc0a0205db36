// Package fakemcp is an MCP server for tests, on the protocol's own Go SDK: it speaks both eras of the protocol over stdio and
// Streamable HTTP, and its tools do what a test has to see survived.
//
//	echo      {text}     repeats it
//	look      {text}     the same, annotated as read-only
//	append    {marker}   writes a line to the ledger: an effect that must never happen twice
//	put       {marker}   the same, annotated as idempotent
//	keep      {text}     keeps it for the connection, and says what was kept before
//	slow      {ms}       answers after so long, or says to the ledger that it was cancelled
//	progress  {steps,ms} reports each step, ms apart
//	fail      {}         answers that it failed
//	crash     {}         ends the process in the middle of the call
//	hang      {}         never answers, and does not listen to a cancellation
//	flip      {}         adds the tool "flipped" to the list, or takes it away
//	big       {bytes}    answers with so much text
//	await     {}         answers when it is released
//	awaited   {calls}    answers when so many calls of await wait
//	release   {bytes}    releases them with so much text, and says how many there were
//
// Each effect is a line in a file that outlives the process ("append mk-a-1-2"), written and synced before the call is answered.
//
// The process ends when its stdin does. Over HTTP it answers whoever asks: keep it on loopback.
package fakemcp
