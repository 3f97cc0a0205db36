package sandbox

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_AARCH64

// This architecture has no calls that the others lack.
var deniedHere, deniedBareHere []uint32
