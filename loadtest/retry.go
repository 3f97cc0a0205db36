package main

import "time"

const retryMin = 10 * time.Millisecond
