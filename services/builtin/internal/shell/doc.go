// Package shell has the tool exec: a shell command in the workspace of an agent, in a sandbox.
//
// It promises what package sandbox does: no network, nothing written but the workspace, none of our keys to be read, and no
// process left behind. There is no way from a sandbox that does not work to a command without one: [New] fails, and says
// what the operator can do. And it promises that a result has a fixed size whatever a command prints, that it is text, and
// that it ends with how the command ended.
//
// A command can write every file of the workspace, those too that each prompt begins with. The person who is asked before
// each call allows that.
package shell
