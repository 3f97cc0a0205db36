package bus

import "fmt"

// Limits of the topology: sizes and copies. Bytes of 0 mean "automatic".
//
// Automatic sizes are shares of Free, the space that the disk of the store has, so that all full streams together still
// leave room; with Free 0 (an outside server) they are fixed. A stream that exists keeps its automatic size as long
// as the disk can hold it and has not doubled: a start does not change limits for nothing.
type Limits struct {
	Replicas      int   // copies of each stream: 1, or 3 on a cluster; 0: as many as it has, 1 for a new one
	Free          int64 // bytes that the disk has; see natsembed.FreeSpace. 0: unknown
	JournalBytes  int64
	BlobBytes     int64
	SnapBytes     int64
	MaxAckPending int // un-acked doorbells of one service; must stay well above all that can be open at once
}

// DefaultLimits are one copy, automatic sizes, and 50,000 open doorbells a service.
func DefaultLimits() Limits { return Limits{Replicas: 1, MaxAckPending: 50_000} }

// Validate finds limits that no server would take.
func (l Limits) Validate() error {
	switch {
	case l.Replicas != 0 && l.Replicas != 1 && l.Replicas != 3 && l.Replicas != 5:
		return fmt.Errorf("replicas %d: a stream has 1, 3 or 5 copies", l.Replicas)
	case l.MaxAckPending < 1:
		return fmt.Errorf("max_ack_pending %d: at least 1; a service would get no doorbell at all", l.MaxAckPending)
	case l.Free < 0 || l.JournalBytes < 0 || l.BlobBytes < 0 || l.SnapBytes < 0:
		return fmt.Errorf("a size in bytes is negative; 0 means automatic")
	}
	return nil
}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// size is an automatic size: a share of the free space, at most a ceiling, or a fixed size when the space is unknown.
type size struct {
	percent        int64
	ceiling, fixed int64
}

// The shares leave 14 % for timers, consumers' state and the file system itself.
var (
	journalSize = size{percent: 60, ceiling: 1 << 50, fixed: 10 * gib}
	blobSize    = size{percent: 15, ceiling: 1 << 50, fixed: 2 * gib}
	snapSize    = size{percent: 5, ceiling: 8 * gib, fixed: gib}
	systemSize  = size{percent: 2, ceiling: gib, fixed: 256 * mib}
	deadSize    = size{percent: 2, ceiling: gib, fixed: 256 * mib}
	bucketSize  = size{percent: 1, ceiling: 256 * mib, fixed: 64 * mib}
)

func (z size) of(free int64) int64 {
	if free <= 0 {
		return z.fixed
	}
	return max(min(free/100*z.percent, z.ceiling), mib)
}
