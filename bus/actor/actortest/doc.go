// Package actortest runs real actors with a real machine against a journal in memory that does to them what a network,
// a crashed process and an overloaded server do: lost acks (of appends and of bells), late acks, duplicated, delayed
// and reordered deliveries, conflicts with and without a number, unreadable events, stale and lost snapshots, a crash
// at every step, and workers that are cut off from the others and go on.
//
// It runs in a bubble of testing/synctest: minutes pass in microseconds. All faults are drawn from a tape of bytes, so
// rapid can shrink a failing history; a byte of 0 and the end of the tape mean "no fault". When the tape is used up the
// world is quiet, and then every bell has to be acked: a session that is left with a step and no bell never gets there,
// and Run reports it as stuck.
package actortest
