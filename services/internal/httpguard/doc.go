// Package httpguard is what every HTTP door of ours checks before it does anything: whom a request is for, where it comes
// from, who sends it, how many there are, and that an answer leaves in time. The pieces know nothing of each other and write no
// answers; a door puts them together in this order, cheapest first, and says no in its own words:
//
//	Hosts.Host     421  the name in the request is none of ours: somebody else's DNS points here (rebinding)
//	Hosts.Origin   403  a web page of somebody else sends it
//	Slots.Enter    429  too many requests are open; before a token is looked at, so that guessing has a bound, too
//	Tokens.Caller  401  no token of the set
//	Slots.Enter    429  again, with the name of the caller, for a cap on each of them
//	Stalled             a client that takes nothing of its answer is cut
//
// All of it fails closed: a set of tokens that cannot be read, or is empty, lets nobody in.
package httpguard
