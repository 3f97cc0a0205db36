// Package fakemodel is a language model for tests: an HTTP server that speaks the OpenAI wire
// (POST /v1/chat/completions; GET /v1/models) and Anthropic's (POST /v1/messages), both streamed and plain, and repeats
// what the person said.
//
// The answer to "mk-a-1-2 hello" is "You said: mk-a-1-2 hello", so whoever reads answers can tell which message each
// belongs to. A person who writes "!rounds 3" gets that answer with the third model call of the turn only: the calls
// before ask for a tool that nobody has. One who writes `!tool NAME {"key":"value"}` has the model ask for that tool
// first, with these arguments; several are asked for one after the other. A request to summarise gets a short summary
// that repeats nothing. The server counts what it was asked by marker, knows how many requests are open, and measures its
// own part of every exchange. It answers at once or after a random delay, of which half passes before the first byte and
// half between the pieces of the stream.
//
// It reports a quarter of a request's bytes as its input tokens, and adds up what it has reported, by model:
// GET /counts, so that an account of usage can be compared with what was used.
//
// It fails by plan: a status, with or without Retry-After, a stream that is cut in the middle, garbage instead of an
// answer, a long wait, or silence until the caller gives up. A person who tries the product asks for one with a message:
// "!fail 503", "!fail 429+2", "!fail cut", "!fail garbage", "!fail slow", "!fail silence".
//
// It binds to whatever address it is given and asks nobody for a key: keep it on loopback.
package fakemodel
