// Package wire is a TCP proxy on loopback that breaks in the ways in which networks break. It knows nothing of what passes.
//
// A fault holds for the connections that are there and for those that come. The two ways of a connection are apart: Up is from
// whoever has connected, Down what comes back.
//
//	cut       nothing passes and nothing is closed, also when one end goes away: the other one does not hear of it
//	delay     everything comes later, in its order
//	slow      so many bytes a second
//	refused   new connections are closed at once; those that are there go on
//	reset     the connections that are there are reset, with what was under way
//
// What was under way when a cut is healed arrives, as TCP would send it again. A cut of Down that ends with a reset is a lost
// answer: what was asked was done, and nobody was told.
package wire
