//go:build !linux && !darwin && !freebsd && !dragonfly

package natsembed

import "math"

// FreeSpace is not known on this system: the disk counts as empty.
func FreeSpace(string) (int64, error) { return math.MaxInt64, nil }
