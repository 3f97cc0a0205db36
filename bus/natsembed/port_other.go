//go:build !linux

package natsembed

import "strconv"

func portOwner(int) string { return "" }

func processName(pid int) string { return strconv.Itoa(pid) }
