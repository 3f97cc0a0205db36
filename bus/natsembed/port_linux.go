package natsembed

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portOwner names the process that listens on a TCP port, "" when it cannot be found out (another user's).
func portOwner(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listeners(table, port, inodes)
	}
	if len(inodes) == 0 {
		return ""
	}
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil {
			continue // gone meanwhile, or not ours to see
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if !ok || !inodes[strings.TrimSuffix(inode, "]")] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(fd, "/")[2])
		if err == nil {
			return "process " + processName(pid)
		}
	}
	return ""
}

// listeners adds the socket inodes that listen on a port; the format is that of proc(5).
func listeners(table string, port int, inodes map[string]bool) {
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	const listening = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		col := strings.Fields(sc.Text())
		if len(col) > 9 && col[3] == listening && strings.HasSuffix(col[1], suffix) {
			inodes[col[9]] = true
		}
	}
}

// processName is a process's id and short name. Its arguments may hold secrets and are left out.
func processName(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return strconv.Itoa(pid)
	}
	return fmt.Sprintf("%d (%s)", pid, strings.TrimSpace(string(b)))
}
