// Package actortest runs real actors with a real machine against a journal in memory that does to them what a network,
// a crashed process and an overloaded server do: lost acks (of appends and of bells), late acks, duplicated, delayed
// and reordered deliveries, appends that happen after their caller gave up, conflicts with and without a number, stale
// snapshots, a journal without room, a server that is away, a crash or a stop at every step, and workers that are cut off
// from the others or stand still, and go on. A script may delete and purge sessions.
//
// Whatever the scenario, Run finds: an effect that begins twice for one claim, a broken chain, a fold in memory that
// differs from the journal's, a step that is left without a bell, a machine's panic that nobody is told of, and a worker
// that is asked to stop and leaves bells to time out (with an empty tape).
//
// It runs in a bubble of testing/synctest: minutes pass in microseconds. All faults are drawn from a tape of bytes, so
// rapid can shrink a failing history; a byte of 0 and the end of the tape mean "no fault". When the tape is used up the
// world is quiet, and then every bell has to be acked: a session that is left with a step and no bell never gets there,
// and Run reports it as stuck.
package actortest
