package bench

import "time"

// Timing of every cell.
type Timing struct {
	Warmup, Duration time.Duration
	PerSession       int
	Text             string // of each message, behind its marker; "" for a question
}
