// Package sandbox runs a shell command that can do little: no network, a system that it can only read, and one folder and
// a temporary one that it can write. When it ends, by itself or not, everything that it began has ended too.
//
// Two processes stand behind a command:
//
//	the caller ── control (stdin), status (fd 3) ──> the keeper: this binary, started again ── fork, exec ──> /bin/sh -c …
//
// The keeper reads what is to be run from the control pipe, builds the walls around one of its threads, starts the shell from
// that thread, and says on the status pipe what came of it. The end of the control pipe means: kill. So a caller that dies
// takes its commands along. The shell has none of these pipes, and no other file of ours.
//
// There are two walls that the kernel keeps in every sandbox:
//
//   - Landlock: rights to paths. Only what [Command] and the list of system folders name can be opened; of /etc and /opt
//     only what every user of the machine may read, so that root's own secrets stay out. Signals stay inside (ABI 6).
//   - seccomp: no socket of any family, no ptrace and the like, no mounts, no namespaces, no io_uring, no keys, no modules,
//     and no system call that is younger than this list.
//
// Beside them: no capabilities, no new privileges (setuid programs gain nothing), no core dumps, files of at most 1 GiB,
// 4096 open files. And a third wall, of which there are three kinds:
//
//	bwrap  bubblewrap makes namespaces, with a root that holds only what may be seen. Needs the program; Landlock is used
//	       if the kernel has it
//	own    the keeper makes them: everything is mounted read-only, empty folders lie over what is hidden, /tmp and /proc are
//	       its own. Needs user namespaces, for root too
//	bare   none. Needs Landlock ABI 6 (Linux 6.12), as without a PID namespace only Landlock keeps signals from the caller
//	       and finds all processes again
//
// What a bare sandbox lacks, because Landlock does not rule over it: programs there cannot change modes, owners, times and
// attributes of files at all (seccomp cannot tell whose), watch folders, or have a /proc; they can ask whether a path
// exists, and for its size.
//
// Fork bombs: an ordinary user has 1024 processes in the kinds with namespaces, root about as many in the kind own from Linux
// 6.14 on (pid_max of the namespace). Else only the time limit ends them; but that it does at one instant.
//
// What no sandbox does: bound the disk space or the memory that is taken (but the kernel's OOM killer takes a command before it
// takes us), or protect the workspace itself. A caller that is killed leaves a folder jetclaw-exec-* in the machine's temporary one.
//
// A sandbox that cannot be had is an error of [New], which tries each kind before it relies on it: a secret must be
// unreadable, a write must fail. [None] is for whoever asks for it: only the killing of the tree remains.
package sandbox
