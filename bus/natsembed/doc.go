// Package natsembed runs a NATS server with JetStream inside this process.
//
// It is the same server that a cluster runs, with a fixed, closed configuration: no signal handlers, no monitoring,
// WebSocket, MQTT, leaf or cluster listener; TCP only when asked for, and then on loopback; every user has an nkey and
// the permissions it is given; one process a store directory (a lock file says whose it is).
//
// # Durability
//
// SyncAlways: what was acknowledged is on disk. SyncInterval: a killed process loses nothing, a power failure what the
// operating system had not yet written.
//
// # When the disk is full
//
// A stream whose write failed stays broken until its server restarts, even after space has returned, and a publisher sees
// only time-outs. A watchdog notices it (by the server's own health check, once a second and at once when the server
// logs an error), waits until the disk has room again, and restarts the inner server on the same port. Connections
// made through InProcessConn reconnect by themselves, as those over TCP do; nothing that was acknowledged is lost.
// A restart that does not help is repeated with growing pauses, up to a minute.
//
// A stream that cannot be recovered at start-up fails Start: going on would create an empty one in its place.
package natsembed
