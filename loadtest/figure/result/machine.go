package result

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// Machine is where something was measured, and with what. It says nothing by which a machine could be found.
type Machine struct {
	OS      string `json:"os"` // with the architecture
	Kernel  string `json:"kernel,omitempty"`
	CPU     string `json:"cpu,omitempty"` // its model
	Cores   int    `json:"cores"`
	Memory  int64  `json:"memory_bytes,omitempty"`
	Disk    string `json:"disk,omitempty"` // the file system that the homes lie on
	Go      string `json:"go"`
	NATS    string `json:"nats_server"`
	Version string `json:"commit,omitempty"` // of jetclaw, "+" behind it: with changes
}

// ThisMachine is where this process runs.
func ThisMachine(ctx context.Context) Machine {
	m := Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), NATS: server.VERSION}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.Memory = kb * 1024
	}
	m.Disk = disk(os.TempDir())
	m.Version = commit(ctx)
	return m
}

// field is the first value of that name in a file of lines "name: value".
func field(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// disk names the file system of a folder; statfs(2) has the numbers.
func disk(dir string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return ""
	}
	known := map[uint32]string{
		0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlay", 0x2fc12fc1: "zfs", 0x6969: "nfs",
	}
	if name := known[uint32(s.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("file system %#x", uint32(s.Type))
}

// commit is what the binary knows of its own, else what git says: `go run` tells the binary nothing.
func commit(ctx context.Context) string {
	const short = 12
	if info, ok := debug.ReadBuildInfo(); ok {
		rev, changed := "", ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				rev = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+"
			}
		}
		if rev != "" {
			return rev[:min(short, len(rev))] + changed
		}
	}
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--exclude=*", "--abbrev="+strconv.Itoa(short), "--dirty=+").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// String is one line for a report.
func (m Machine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cores", m.Cores)
	if m.CPU != "" {
		fmt.Fprintf(&b, " (%s)", m.CPU)
	}
	if m.Memory > 0 {
		fmt.Fprintf(&b, ", %.0f GB", float64(m.Memory)/1e9)
	}
	if m.Disk != "" {
		fmt.Fprintf(&b, ", %s", m.Disk)
	}
	fmt.Fprintf(&b, "; %s", m.OS)
	if m.Kernel != "" {
		fmt.Fprintf(&b, " %s", m.Kernel)
	}
	fmt.Fprintf(&b, "; %s, nats-server %s", m.Go, m.NATS)
	if m.Version != "" {
		fmt.Fprintf(&b, "; jetclaw %s", m.Version)
	}
	return b.String()
}
