package launch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep ends what servers of this home have left running whose jetclaw is gone, killed before it could end them: with SIGTERM, after
// DefaultGrace with SIGKILL. What belongs to a living process stays. It returns when nothing is left, with the number of
// processes that it has ended, or when ctx ends.
func Sweep(ctx context.Context, home string, log *slog.Logger) (ended int, err error) {
	return sweep(ctx, home, DefaultGrace, log)
}

func sweep(ctx context.Context, home string, grace time.Duration, log *slog.Logger) (ended int, err error) {
	prefix := homeMark(home)
	told := map[int]bool{}
	begun, pause := time.Now(), firstPause
	for quiet := 0; ; {
		list := orphans(prefix)
		if len(list) == 0 {
			if quiet++; quiet == 2 { // see tree.left
				return len(told), nil
			}
			continue
		}
		quiet = 0
		late := time.Since(begun) > grace
		for _, pid := range list {
			meant := func() bool { return orphan(pid, prefix) }
			switch {
			case !told[pid]:
				told[pid] = true
				log.Info("ends a process that a server of an earlier run has left", "pid", pid, "server", serverOf(pid))
				send(pid, unix.SIGTERM, meant)
			case late:
				send(pid, unix.SIGKILL, meant)
			}
		}
		wait := time.NewTimer(pause)
		pause = min(2*pause, lastPause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return len(told) - len(list), fmt.Errorf("sweep: %d processes of servers of an earlier run have not ended: %w",
				len(list), context.Cause(ctx))
		}
	}
}

func orphans(prefix string) []int {
	var list []int
	for _, pid := range numbers("/proc") {
		if orphan(pid, prefix) {
			list = append(list, pid)
		}
	}
	return list
}

// orphan says that a process lives, has a mark of this home, and that the mark's owner does not live. We ourselves are
// none: a server may have started us.
func orphan(pid int, prefix string) bool {
	mark, ok := markOf(pid)
	rest, ours := strings.CutPrefix(mark, prefix)
	if !ok || !ours || pid == os.Getpid() {
		return false
	}
	owner, _, _ := strings.Cut(rest, "/")
	return gone(owner)
}

func serverOf(pid int) string {
	mark, _ := markOf(pid)
	parts := strings.SplitN(mark, "/", 4)
	return printable([]byte(parts[len(parts)-1]), nil)
}
