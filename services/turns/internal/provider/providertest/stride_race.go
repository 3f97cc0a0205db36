//go:build race

package providertest

// stride is the distance between the bytes at which streams are cut and split. The race detector looks for races, which
// are the same at every byte; it makes each of them ten times as slow.
const stride = 7
