//go:build !race

package providertest

// stride is the distance between the bytes at which streams are cut and split: every one.
const stride = 1
