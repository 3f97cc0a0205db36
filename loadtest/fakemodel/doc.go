// Package fakemodel is a language model for tests: an HTTP server that speaks the OpenAI wire
// (POST /v1/chat/completions, streamed and plain; GET /v1/models) and repeats what the person said.
//
// The answer to "mk-a-1-2 hello" is "You said: mk-a-1-2 hello", so whoever reads answers can tell which message each
// belongs to. The server counts what it was asked by marker, knows how many requests are open, and measures its own
// part of every exchange. It answers at once or after a random delay, of which half passes before the first byte and
// half between the pieces of the stream.
//
// It fails by plan: a status, a stream that is cut in the middle, garbage instead of an answer, or silence until the
// caller gives up. A person who tries the product asks for one with a message: "!fail 503", "!fail cut",
// "!fail garbage", "!fail silence".
//
// It binds to whatever address it is given and asks nobody for a key: keep it on loopback.
package fakemodel
