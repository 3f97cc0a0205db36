//go:build race

package turns_test

import "time"

// shortTime is longer under the race detector, which makes everything several times as slow.
const shortTime = 20 * time.Second
