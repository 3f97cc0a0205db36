//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newest is the youngest system call that this list was written for. What comes after it does not exist, as on an older
// kernel, until somebody has looked at it.
const newest = unix.SYS_RSEQ_SLICE_YIELD

// denied can be called by no command.
var denied = []uint32{ //nolint:gochecknoglobals // a constant
	// The network, the services of this machine behind unix sockets included. A socketpair is fine: it has two ends here.
	unix.SYS_SOCKET,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_PERF_EVENT_OPEN,
	// Mounts, roots and namespaces; files by their handles.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	// The kernel's keyrings hold secrets of the user.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// The machine. Most need capabilities anyway.
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL, unix.SYS_LSM_SET_SELF_ATTR,
}

// absent do not exist for a command; C libraries and runtimes then use older calls. io_uring does what calls do without
// calling them, and clone3 has its flags where a filter cannot look.
var absent = []uint32{ //nolint:gochecknoglobals // a constant
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// deniedBare are denied too where there are no namespaces: they reach what belongs to the same user outside.
var deniedBare = []uint32{ //nolint:gochecknoglobals // a constant
	// Landlock lets these through on every path.
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR, unix.SYS_INOTIFY_ADD_WATCH,
	// Shared memory and queues of the user, and the priorities of the user's processes.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR,
	unix.SYS_SCHED_SETAFFINITY,
}

// namespaces are the flags of clone that make them. A time namespace is made by unshare and clone3 only.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Where struct seccomp_data has its fields. The low half of an argument comes first: both architectures are little-endian.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// filter is the program that the kernel asks before each system call.
func filter(bare bool) []unix.SockFilter {
	const eperm, enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	p := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, nativeArch, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS), // other numbers, other calls
		load(offsetNumber), jump(unix.BPF_JGT, newest, 0, 1), ret(enosys), // and those of x32
	}
	// flagged denies a call when its argument has one of the bits.
	flagged := func(number, arg, bits uint32) {
		p = append(p, jump(unix.BPF_JEQ, number, 0, 4),
			load(offsetArgs+8*arg), jump(unix.BPF_JSET, bits, 0, 1), ret(eperm), ret(unix.SECCOMP_RET_ALLOW))
	}
	flagged(unix.SYS_CLONE, 0, namespaces)
	deny := slices.Concat(denied, deniedHere)
	if bare {
		flagged(unix.SYS_PRLIMIT64, 0, 0xffffffff) // limits of another process than itself
		deny = slices.Concat(deny, deniedBare, deniedBareHere)
	}
	for _, number := range absent {
		p = append(p, jump(unix.BPF_JEQ, number, 0, 1), ret(enosys))
	}
	for _, number := range deny {
		p = append(p, jump(unix.BPF_JEQ, number, 0, 1), ret(eperm))
	}
	return append(p, ret(unix.SECCOMP_RET_ALLOW))
}

// sift puts the filter on this thread and on what it starts.
func sift(bare bool) error {
	p := filter(bare)
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	//nolint:gosec // the kernel reads it before the call returns
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
