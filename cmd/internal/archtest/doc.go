// Package archtest holds the rules of the house and checks them on the source tree. It needs nothing but Go.
//
// The rules that a compiler cannot know: which way imports run, what a pure machine may touch, where the environment and
// the names of subjects may be read and written, how large a file may be. Each rule has a reason, and a breach prints it.
// The test of this package checks the whole tree; a second one breaks each rule in a made-up tree and expects the breach.
package archtest
