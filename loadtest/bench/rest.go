package bench

import "time"

const RestPoll = time.Second
