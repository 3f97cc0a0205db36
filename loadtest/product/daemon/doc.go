// Package daemon builds jetclaw and runs it as its users do: as a process of its own on a home directory, with a
// configuration file, reached over HTTP, or on its bus with the keys that lie in the home. It can measure the process from
// outside and kill it.
//
// Every process started here is in a group of its own and dies with its parent (Pdeathsig), so an interrupted load test
// leaves nothing behind. Linux only: figures come from /proc.
package daemon
