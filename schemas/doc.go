// Package schemas is the root of the contracts: what is written to the journal and read from it, by today's code and by
// every later one. It holds no code itself.
//
//	session   who talks with whom: ids of conversations
//	subject   where things are kept and said: names of subjects, streams, buckets
//	envelope  what surrounds an event: headers, the chain of a session, decoding that never fails a fold
//	fault     what kind of trouble an error is, across borders
//	machine   the words between a pure machine and the shell that runs it
//	*v1       the sealed events of one noun
//	registry  the one list of all event types
//
// json/ and asyncapi.yaml are generated from the Go types (go run ./cmd/internal/gen) for readers in other languages.
//
// testdata/golden holds one stored message for each event type and version, as it was written when the type was
// published. A sample is never changed or removed: today's code has to read it and to write the same bytes again. A
// change to a published type is therefore a field that is added with omitempty or omitzero, or it is a new version.
package schemas
