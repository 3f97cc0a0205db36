package bench

import "time"

const IdleTime = 3 * time.Second // until the memory of a start-up is given back

const CalmTime = 30 * time.Second // after turns, until the daemon counts itself as idle and gives memory back
