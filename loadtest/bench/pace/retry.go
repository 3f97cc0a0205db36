package pace

import "time"

const RetryMin = 10 * time.Millisecond
