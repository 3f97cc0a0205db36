package trial

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fault/disk"
	"github.com/jetclaw/jetclaw/loadtest/judge"
)

// Life is one kill, and the start after it.
type Life struct {
	judge.Restart      // Ready is zero when the daemon was killed before
	Open          int  `json:"open"`            // model requests that were open when it was killed
	Summaries     int  `json:"summaries"`       // of them
	Fallbacks     int  `json:"fallbacks"`       // of them, to the model that stands in for others
	Early         bool `json:"early,omitempty"` // it was killed while it started

	Lost *disk.Loss `json:"lost,omitempty"` // what the disk has lost, where its power was cut
}

// EarlyTime is how soon after exec a kill comes that is to meet a daemon while it starts.
const EarlyTime = 120 * time.Millisecond
