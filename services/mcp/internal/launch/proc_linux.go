package launch

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// numbers are the entries of a folder that are numbers.
func numbers(dir string) []int {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var list []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// status is what we need of /proc/<pid>/stat.
type status struct {
	pid, group, session int
	state               byte
	start               string // in ticks since the start of the system: with pid it names one process for as long as that runs
}

// alive is false for what only waits to be waited for.
func (s status) alive() bool { return s.state != 'Z' && s.state != 'X' && s.state != 'x' }

func statusOf(pid int) (status, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	// The second field is the name in brackets, which can hold spaces and brackets itself.
	i := bytes.LastIndexByte(raw, ')')
	if i < 0 {
		return status{}, false
	}
	f := strings.Fields(string(raw[i+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return status{}, false
	}
	group, err1 := strconv.Atoi(f[2])
	session, err2 := strconv.Atoi(f[3])
	return status{pid: pid, state: f[0][0], group: group, session: session, start: f[19]}, err1 == nil && err2 == nil
}

// markOf is the mark of a process. Of other users' processes we see none.
func markOf(pid int) (string, bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(entry, []byte(markName+"=")); ok {
			return string(mark), true
		}
	}
	return "", false
}

// owner names this process in marks: <pid>.<start>.<namespace>. Processes of a container and those of its host can see the
// same home, and then a number means two of them.
var owner = sync.OnceValue(func() string {
	st, _ := statusOf(os.Getpid())
	return fmt.Sprintf("%d.%s.%s", os.Getpid(), st.start, namespace())
})

func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "0"
	}
	return strings.Trim(link, "pid:[]")
}

// gone says that the owner that a mark names has ended. What it cannot judge is not gone.
func gone(owner string) bool {
	pid, rest, _ := strings.Cut(owner, ".")
	start, space, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil || start == "" || space != namespace() {
		return false
	}
	st, ok := statusOf(n)
	return !ok || st.start != start || !st.alive()
}
