package main

import "strconv"

func runName(seed uint64) string { return "t" + strconv.FormatUint(seed%(36*36*36*36), 36) }
