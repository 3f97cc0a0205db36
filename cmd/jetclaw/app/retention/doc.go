// Package retention takes whole sessions that nobody has written to for a time out of the journal. Each is archived to a
// file before, and its tombstone stays, so that accounts remain complete and the chain of the session has a beginning.
//
//	survey     one replay of the journal: per session its events, their size, when the last one was
//	choose     dormant ones, then, above a size of the journal, the longest dormant until it is below; none that is at work
//	archive    every event as a line of JSON, gzip; written aside, read back, then given its name
//	delete     svc.turns.delete appends the tombstone, unless the session has news: then the archive is removed again
//	purge      the events below the tombstone go
//
// What happens when it dies:
//
//	while archiving        a file with a name of its own kind is left; a later run removes it
//	before the tombstone   the archive is left, the session is whole: the next run finds the archive and replaces it
//	before the purge       the tombstone stands above events that are archived: the next run purges them
//	during the purge       the same, with fewer events
//
// Nothing is purged that is not in an archive which was read back. One run at a time works on an archive's folder.
//
// The purge takes bodies and attachments in the object store, too. An archive has the bodies, as parts of its events;
// attachments are kept beside it, in the folder files, by their SHA-256. An answer that could not be delivered in all that
// time goes with its session.
//
// Look and Single.Delete let a single session go that a person has named: the same order, without an archive.
package retention
