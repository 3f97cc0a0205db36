package main

import "time"

// timing of every cell.
type timing struct {
	warmup, duration time.Duration
	perSession       int
	text             string // of each message, behind its marker; "" for a question
}
