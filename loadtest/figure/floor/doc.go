// Package floor measures what a turn must cost at the least: the raw bus doing the same appends and deliveries, and
// bare net/http doing the same exchanges. The product's figures are read beside these, from the same machine in the
// same minutes.
//
// The shape of a turn is counted from the journal of the measured run: which events a turn appends, in which order, how
// large they are, and which of them ring which durable consumer. The bus floor replays exactly that on an embedded
// nats-server: message appended → delivered → the next events appended one after the other → the delivery acknowledged →
// … with compare-and-set over the session and the same sync mode, and nothing else: no fold, no JSON, no republishing.
// Appends of one session wait for each other in this process, so the floor never loses a compare-and-set.
//
// Both floors run in a child process of their own (Bus, Web), as the product does.
package floor
