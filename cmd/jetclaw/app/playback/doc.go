// Package playback folds the journal with today's machines: the state of one session at any cursor, what its machines want now,
// and whether they would decide today as they did then.
//
// Check runs over all of the journal or a part that begins at its beginning: sessions are spread over goroutines by their
// partition, each in its own order. What lies above a hole in a session's chain is not judged, up to its next tombstone: no
// machine has seen the events that are missing. The same holds for what follows an event of a newer jetclaw.
package playback
