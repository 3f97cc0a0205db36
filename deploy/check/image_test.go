package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	parsed, err := parser.Parse(strings.NewReader(readFile(t, filepath.Join(deployDir, "Dockerfile"))))
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// ran are the commands of a stage that run something.
func commandsOf[T any](s instructions.Stage) []T {
	var all []T
	for _, c := range s.Commands {
		if v, ok := c.(T); ok {
			all = append(all, v)
		}
	}
	return all
}

// TestDockerfile: the last stage is from scratch, holds what image/rootfs lays out and nothing else, and is not root.
func TestDockerfile(t *testing.T) {
	list := stages(t)
	last := list[len(list)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the last stage is from %s", last.BaseName)
	}
	copies := commandsOf[*instructions.CopyCommand](last)
	if len(copies) != 1 || copies[0].From != "build" || copies[0].DestPath != "/" || !slices.Equal(copies[0].SourcePaths, []string{"/out/"}) {
		t.Errorf("it holds %+v", copies)
	}
	laid := false
	for _, s := range list {
		if s.Name != "build" {
			continue
		}
		for _, r := range commandsOf[*instructions.RunCommand](s) {
			laid = laid || strings.HasPrefix(strings.Join(r.CmdLine, " "), "deploy/image/rootfs /out")
		}
	}
	if !laid {
		t.Error("no stage runs deploy/image/rootfs /out")
	}
	for _, s := range list {
		if s.Name == "build" {
			continue
		}
		users := commandsOf[*instructions.UserCommand](s)
		if len(users) == 0 || users[len(users)-1].User != "65532:65532" {
			t.Errorf("stage %q runs as %+v", s.Name, users)
		}
		if len(commandsOf[*instructions.HealthCheckCommand](s)) != 1 {
			t.Errorf("stage %q has no health check", s.Name)
		}
		entry := commandsOf[*instructions.EntrypointCommand](s)
		if len(entry) != 1 || entry[0].PrependShell || !slices.Equal(entry[0].CmdLine, []string{"/usr/bin/jetclaw"}) {
			t.Errorf("stage %q starts %+v", s.Name, entry)
		}
		if strings.Contains(s.BaseName, ":latest") || s.BaseName != "scratch" && !strings.Contains(s.BaseName, ":") {
			t.Errorf("stage %q is from %s, which is no version", s.Name, s.BaseName)
		}
	}
}

// TestImageHolds: one program, linked to nothing, and no way to become somebody else.
func TestImageHolds(t *testing.T) {
	dir := imageDir(t)
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || st.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %s", path, st.Mode())
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	want := []string{"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/bin/jetclaw", "usr/share/zoneinfo.zip"}
	if !slices.Equal(files, want) {
		t.Errorf("it holds %v", files)
	}
}

// containerOf is the image as a container would see it: mounted read-only, with /proc, a home and a folder for what is temporary, entered
// by chroot as the user of the image in namespaces of its own. Nothing else of this machine is there.
func containerOf(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root can enter an image: run this check as root")
	}
	tool(t, "ip", "iproute2")
	script := `set -e
mount --make-rprivate /
mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"
mount -t tmpfs -o mode=0700,uid=65532,gid=65532 home "$1/home/jetclaw"
mount -t tmpfs -o mode=1777 tmp "$1/tmp"
shift
ip link set lo up
exec setpriv --no-new-privs env -i "$@"`
	list := append([]string{"--mount", "--pid", "--net", "--fork", "--kill-child", "bash", "-c", script, "enter", imageDir(t)}, env...)
	list = append(list, "/usr/sbin/chroot", "--userspec=65532:65532", imageDir(t))
	return exec.CommandContext(t.Context(), tool(t, "unshare", "util-linux"), append(list, args...)...)
}

// imageEnv is the environment that the Dockerfile gives.
func imageEnv(t *testing.T) []string {
	t.Helper()
	list := stages(t)
	var env []string
	for _, e := range commandsOf[*instructions.EnvCommand](list[len(list)-1]) {
		for _, pair := range e.Env {
			env = append(env, pair.Key+"="+pair.Value)
		}
	}
	return env
}

// TestImageSuffices runs a turn, with time zones and its journal, in the image alone.
func TestImageSuffices(t *testing.T) {
	out := run(t, containerOf(t, imageEnv(t), "/usr/bin/jetclaw", "version"))
	if !strings.HasPrefix(out, "jetclaw check ") {
		t.Errorf("the version that was built is %q", out)
	}
	out = run(t, containerOf(t, imageEnv(t), "/usr/bin/jetclaw", "chat", `!tool now {"zone":"Pacific/Auckland"}`))
	if !strings.Contains(out, "Auckland") && !strings.Contains(out, "+1") {
		t.Errorf("no time zones in the image: %s", out)
	}
	if !strings.Contains(out, "offline") {
		t.Errorf("a turn: %s", out)
	}
}

// TestImageServes starts the image as its Dockerfile does, asks its health as the Dockerfile does, and ends it as an engine does.
func TestImageServes(t *testing.T) {
	list := stages(t)
	last := list[len(list)-1]
	args := slices.Concat(commandsOf[*instructions.EntrypointCommand](last)[0].CmdLine, commandsOf[*instructions.CmdCommand](last)[0].CmdLine)
	c := containerOf(t, imageEnv(t), args...)
	out := &lines{}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	health := commandsOf[*instructions.HealthCheckCommand](last)[0].Health.Test
	if health[0] != "CMD" {
		t.Fatalf("health is asked by %v", health)
	}
	pid := inside(t, c.Process.Pid)
	ask := func() ([]byte, error) { // in the same network, in the same image
		return exec.Command("nsenter", append([]string{"--net", "--target", pid, "/usr/sbin/chroot", "--userspec=65532:65532", imageDir(t)}, health[1:]...)...).CombinedOutput()
	}
	var answer []byte
	err := fmt.Errorf("not asked")
	for deadline := time.Now().Add(60 * time.Second); err != nil && time.Now().Before(deadline); {
		select {
		case e := <-ended:
			t.Fatalf("it ended: %v\n%s", e, out)
		case <-time.After(100 * time.Millisecond):
		}
		answer, err = ask()
	}
	if err != nil {
		t.Fatalf("not ready: %v\n%s\n%s", err, answer, out)
	}
	t.Logf("health: %s", answer)
	began := time.Now()
	if err := exec.Command("kill", "-TERM", pid).Run(); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-ended:
		if e != nil {
			t.Errorf("it ended with %v\n%s", e, out)
		}
	case <-time.After(drains + 5*time.Second):
		t.Errorf("it has not ended\n%s", out)
		_ = syscall.Kill(c.Process.Pid, syscall.SIGKILL)
	}
	t.Logf("drained in %s", time.Since(began).Round(time.Millisecond))
}

// inside is the process of jetclaw below unshare.
func inside(t *testing.T, parent int) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
		if child := strings.TrimSpace(string(data)); err == nil && child != "" {
			if name, _ := os.ReadFile("/proc/" + child + "/comm"); strings.TrimSpace(string(name)) == "jetclaw" {
				return child
			}
		}
	}
	t.Fatal("jetclaw was not started")
	return ""
}
