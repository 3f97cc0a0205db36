// Command powerfs is a file system that can lose its power, and be full, on command.
//
//	powerfs [--names journal|strict] BACKING MOUNTPOINT
//
// It passes everything on to BACKING/disk and remembers what was not synced. A cut takes that back: BACKING/disk is then what
// a disk has after a power failure, and the next powerfs on BACKING begins with it. It runs on Linux as root (it mounts by itself).
// It is a module of its own: jetclaw does not need FUSE.
//
// # What a cut loses
//
//   - Data: what was written or cut off (truncated) in a file since its last fsync, fdatasync or write of a descriptor with O_SYNC or
//     O_DSYNC. What is left of it is, by the seed: nothing; all; or the first of these writes, in the file's order, and of the
//     next one some bytes (a torn write). Files are independent of each other: of two files the later write may be left and
//     the earlier gone. Writes through mmap count when the kernel hands them over.
//   - Names: files and directories that were made, renamed, linked or removed. With "journal" (what ext4 and XFS do) they are
//     committed in their order, all that came before together, by any fsync of a file or a directory. The seed chooses how many
//     of those after it are left. With "strict" (what POSIX promises) a name is safe only when its own directory was
//     synced; a rename from one directory to another when the new one was.
//
// What it does not model: sectors that rot, writes of one file that reach the disk out of their order, a disk that
// lies about a flush, the allocation of data before a rename (ext4's auto_da_alloc). Modes, owners and times of files survive always.
//
// # How it is told
//
// A line on standard input is a command, and is answered by a line of JSON on standard output; the first such line says that it is mounted.
//
//	cut SEED     drops what was not synced; from then on everything fails with EIO. Unmounts and ends.
//	room BYTES   the size of the disk; 0: as large as the one below it. Beyond it ENOSPC is answered
//	others BYTES how much of the disk others have taken
//	sync         makes all that was done certain
//	stat         counts so far
//
// When the input ends it unmounts and ends; nothing is lost then.
package main
