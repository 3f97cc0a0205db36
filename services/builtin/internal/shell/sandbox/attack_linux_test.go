package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// target is what a program in the sandbox is told to attack.
type target struct {
	Home     string // with keys/key, data/, run/, jetclaw.yaml, workspace/, where the program runs
	TCP, UDP string // addresses where somebody listens
	Unix     string // path of a socket where somebody listens
	Abstract string // name of one
	Parent   int    // the process that had it run
	Shm      int    // id of shared memory
	Secret   string // in keys/key, and in the environment of Parent
}

func (t target) key() string { return filepath.Join(t.Home, "keys", "key") }

// attack does one thing that must not work: nil means that it did.
type attack struct {
	name string
	fair bool // it works without a sandbox, for any user; else it may harm the machine, or need a right
	run  func(t target) error
}

var attacks = []attack{
	{"tcp", true, func(t target) error { return dial("tcp", t.TCP) }},
	{"unix socket", true, func(t target) error { return dial("unix", t.Unix) }},
	{"abstract socket", true, func(t target) error { return dial("unix", "@"+t.Abstract) }},
	{"udp", true, func(t target) error { return dial("udp", t.UDP) }},
	{"listen", true, func(target) error { return second(net.Listen("tcp", "127.0.0.1:0")) }},
	{"dns", false, func(t target) error {
		r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", t.UDP)
		}}
		_, err := r.LookupHost(context.Background(), "example.org")
		return err
	}},
	{"netlink", false, func(target) error { return second(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) }},
	{"packets", false, func(target) error { return second(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) }},
	{"vsock", false, func(target) error { return second(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)) }},
	{"io_uring", false, func(target) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	}},

	{"read key", true, func(t target) error { return reveals(t.key(), t.Secret) }},
	{"read key beside", true, func(t target) error { return reveals("../keys/key", t.Secret) }},
	{"read key by cd", true, func(t target) error {
		defer func() { _ = os.Chdir(filepath.Join(t.Home, "workspace")) }()
		return errors.Join(os.Chdir(filepath.Join(t.Home, "keys")), reveals("key", t.Secret))
	}},
	{"read key by link", true, func(t target) error {
		_ = os.Remove("link")
		return errors.Join(os.Symlink("../keys", "link"), reveals("link/key", t.Secret))
	}},
	{"read key by hard link", true, func(t target) error {
		_ = os.Remove("hard")
		return errors.Join(os.Link(t.key(), "hard"), reveals("hard", t.Secret))
	}},
	{"read key by own root", true, func(t target) error { return reveals("/proc/self/root"+t.key(), t.Secret) }},
	{"read key by own folder", true, func(t target) error { return reveals("/proc/self/cwd/../keys/key", t.Secret) }},
	{"read key by root of 1", false, func(t target) error { return reveals("/proc/1/root"+t.key(), t.Secret) }},
	{"read key by root of parent", false, func(t target) error { return reveals(t.proc("root")+t.key(), t.Secret) }},
	{"read key by folder of parent", false, func(t target) error { return reveals(t.proc("cwd")+"/"+t.key(), t.Secret) }},
	{"read key by handle", false, func(t target) error {
		handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, t.key(), 0)
		if err != nil {
			return err
		}
		return second(unix.OpenByHandleAt(mount, handle, unix.O_RDONLY))
	}},
	{"environment of parent", true, func(t target) error { return reveals(t.proc("environ"), t.Secret) }},
	{"environment of 1", false, func(t target) error { return second(os.ReadFile("/proc/1/environ")) }},
	{"memory of parent", false, func(t target) error { return second(os.Open(t.proc("mem"))) }},
	{"memory of 1", false, func(t target) error { return second(os.Open("/proc/1/mem")) }},
	{"list home", true, func(t target) error { return lists(t.Home, "keys") }},
	{"list keys", true, func(t target) error { return lists(filepath.Join(t.Home, "keys"), "key") }},
	{"read config", true, func(t target) error { return reveals(filepath.Join(t.Home, "jetclaw.yaml"), t.Secret) }},
	{"read data", true, func(t target) error { return reveals(filepath.Join(t.Home, "data", "d"), t.Secret) }},
	{"read neighbour", true, func(t target) error { return reveals(filepath.Join(t.Home, "other", "USER.md"), t.Secret) }},
	{"read shadow", false, func(target) error { return second(os.ReadFile("/etc/shadow")) }},
	{"read var", false, func(target) error { return second(os.ReadDir("/var/lib")) }},
	{"read home of root", false, func(target) error { return second(os.ReadDir("/root")) }},
	{"list root of processes", false, func(t target) error { return second(os.ReadDir(t.proc(""))) }},

	{"write home", true, func(t target) error { return writes(filepath.Join(t.Home, "made")) }},
	{"write data", true, func(t target) error { return writes(filepath.Join(t.Home, "data", "made")) }},
	{"write later", true, func(t target) error { return writes(filepath.Join(t.Home, "run", "later", "made")) }},
	{"change config", true, func(t target) error { return writes(filepath.Join(t.Home, "jetclaw.yaml")) }},
	{"cut config", true, func(t target) error { return os.Truncate(filepath.Join(t.Home, "jetclaw.yaml"), 0) }},
	{"write above", false, func(t target) error { return writes(filepath.Join(filepath.Dir(t.Home), "made")) }},
	{"write etc", false, func(target) error { return writes("/etc/jetclaw-attack") }},
	{"write usr", false, func(target) error { return writes("/usr/bin/jetclaw-attack") }},
	{"write root", false, func(target) error { return writes("/jetclaw-attack") }},
	{"write var", false, func(target) error { return writes("/var/tmp/jetclaw-attack") }},
	{"write shm", false, func(target) error { return writes("/dev/shm/jetclaw-attack") }},
	{"write home of root", false, func(target) error { return writes("/root/jetclaw-attack") }},
	{"write kernel setting", false, func(target) error { return writes("/proc/sys/kernel/core_pattern") }},
	{"mode of key", true, func(t target) error { return os.Chmod(t.key(), 0o644) }},
	{"mode of home", true, func(t target) error { return os.Chmod(t.Home, 0o777) }},
	{"times of key", true, func(t target) error { return unix.Utimes(t.key(), make([]unix.Timeval, 2)) }},
	{"owner of key", true, func(t target) error { return os.Chown(t.key(), os.Getuid(), os.Getgid()) }},
	{"mode of passwd", false, func(target) error {
		f, err := os.Open("/etc/passwd")
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Chmod(0o644)
	}},
	{"move key here", true, func(t target) error {
		return errors.Join(os.Rename(t.key(), "key"), os.Rename("key", t.key()))
	}},
	{"remove key", false, func(t target) error { return os.Remove(t.key()) }},
	{"device", false, func(target) error { return unix.Mknod("device", unix.S_IFBLK|0o600, 8<<8) }},

	{"signal parent", true, func(t target) error { return unix.Kill(t.Parent, 0) }},
	{"signal keeper", false, func(target) error { return errors.Join(unix.Kill(unix.Getppid(), 0), outside(unix.Getppid())) }},
	{"signal parent by fd", true, func(t target) error {
		fd, err := unix.PidfdOpen(t.Parent, 0)
		return errors.Join(err, unix.PidfdSendSignal(fd, 0, nil, 0))
	}},
	{"trace parent", false, func(t target) error {
		runtime.LockOSThread()
		return unix.PtraceSeize(t.Parent)
	}},
	{"memory of parent by call", false, func(t target) error {
		local := unix.Iovec{Base: new(byte), Len: 1}
		return second(unix.ProcessVMReadv(t.Parent, []unix.Iovec{local}, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0))
	}},
	{"limits of parent", true, func(t target) error {
		var old unix.Rlimit
		return unix.Prlimit(t.Parent, unix.RLIMIT_CORE, nil, &old)
	}},
	{"shared memory", true, func(t target) error { return second(unix.SysvShmAttach(t.Shm, 0, unix.SHM_RDONLY)) }},

	{"user namespace", false, func(target) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"namespace of 1", false, func(target) error {
		f, err := os.Open("/proc/1/ns/mnt")
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Setns(int(f.Fd()), unix.CLONE_NEWNS)
	}},
	{"clone with namespace", false, func(target) error {
		return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_PARENT_SETTID, 0, 0)
	}},
	{"bind", false, func(t target) error { return unix.Mount(t.Home, ".", "", unix.MS_BIND, "") }},
	{"unmount", false, func(t target) error { return unix.Unmount(t.Home+"/keys", unix.MNT_DETACH) }},
	{"unmount tmp", false, func(target) error { return unix.Unmount("/tmp", unix.MNT_DETACH) }},
	{"writable again", false, func(target) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"tree", false, func(t target) error { return second(unix.OpenTree(unix.AT_FDCWD, t.Home, unix.OPEN_TREE_CLONE)) }},
	{"chroot", false, func(target) error { return unix.Chroot(".") }},
	{"keyring", false, func(target) error { return second(unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false)) }},
	{"bpf", false, func(target) error { return call(unix.SYS_BPF, 0, 0, 0) }},
	{"perf", false, func(target) error { return second(unix.PerfEventOpen(&unix.PerfEventAttr{}, 0, -1, -1, 0)) }},
	{"fault handler", false, func(target) error { return call(unix.SYS_USERFAULTFD, 1, 0, 0) }},
	{"unknown call", false, func(target) error {
		if _, _, errno := unix.RawSyscall(newest+1, 0, 0, 0); errno != unix.ENOSYS {
			return nil
		}
		return unix.ENOSYS
	}},
	{"root again", false, func(target) error {
		if os.Geteuid() == 0 {
			return unix.Setuid(1)
		}
		return unix.Setuid(0)
	}},
	{"capabilities", false, func(target) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var has [2]unix.CapUserData
		if err := unix.Capget(&header, &has[0]); err != nil || has != [2]unix.CapUserData{} {
			return nil
		}
		return errors.New("none")
	}},
	{"new privileges", false, func(target) error {
		if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n != 1 {
			return nil
		}
		return errors.New("none")
	}},
	{"terminal", false, func(target) error { return second(os.OpenFile("/dev/tty", os.O_RDWR, 0)) }},
	{"new terminal", false, func(target) error { return second(os.OpenFile("/dev/ptmx", os.O_RDWR, 0)) }},
}

// attackAll is the program that runs in the sandbox: a line of JSON for each attack.
func attackAll(arg string, fair bool) int {
	var t target
	if err := json.Unmarshal([]byte(arg), &t); err != nil {
		fmt.Println(err)
		return 1
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range attacks {
		if fair && !a.fair {
			continue
		}
		text := ""
		if err := a.run(t); err != nil {
			text = err.Error()
		}
		if err := out.Encode([2]string{a.name, text}); err != nil {
			return 1
		}
	}
	return 0
}

func (t target) proc(name string) string { return filepath.Join("/proc", strconv.Itoa(t.Parent), name) }

func second[T any](_ T, err error) error { return err }

func call(number, a, b, c uintptr) error {
	got, _, errno := unix.RawSyscall(number, a, b, c)
	if errno != 0 {
		return errno
	}
	if number == unix.SYS_CLONE && got == 0 {
		unix.Exit(0)
	}
	return nil
}

// outside says whether a process is none of ours: the parent can be the shell.
func outside(pid int) error {
	if pid == 1 {
		return nil
	}
	return errors.New("the shell")
}

func dial(network, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if network != "udp" {
		return nil // somebody has accepted
	}
	return second(conn.Write([]byte("hello")))
}

func reveals(path, secret string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !containsSecret(raw, secret) {
		return errors.New("something else")
	}
	return nil
}

func lists(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == name {
			return nil
		}
	}
	return errors.New("it is empty")
}

func writes(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if filepath.Dir(path) == "/proc/sys/kernel" {
		return nil
	}
	return second(f.WriteString("made"))
}
