package registry

import "errors"

// Contract is the number of what stands in a journal: the types of events, and what they mean. It is raised by whatever makes an
// older jetclaw read a journal wrongly: a new type that a fold must not pass by, above all. The journal carries the number of the
// newest jetclaw that has brought its topology about; an older one stops before it, see bus.Conn.Check.
const Contract = 1

// ErrType says that there is no such type: a newer jetclaw has written it, or nobody of ours.
var ErrType = errors.New("unknown event type")
