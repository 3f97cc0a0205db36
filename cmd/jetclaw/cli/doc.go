// Package cli is the command line: a file a command. Commands parse, call package app and print; stdout has what was asked
// for, stderr everything else, and the exit code says how it went (exit.go).
package cli
