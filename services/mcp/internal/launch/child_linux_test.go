package launch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childMode says that this binary is not to test but to be a server of a test, and which.
const childMode = "LAUNCH_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child misbehaves as it is told, word by word.
func child(modes string) {
	for mode := range strings.FieldsSeq(modes) {
		switch mode {
		case "deaf": // to signals that can be ignored
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		case "fails":
			fmt.Fprintln(os.Stderr, "cannot open the \x1b[31mdatabase\x1b[0m, password hunter2\x00 is wrong")
			os.Exit(3)
		case "env":
			for _, entry := range os.Environ() {
				fmt.Fprintln(os.Stderr, entry)
			}
		case "flood":
			line := strings.Repeat("x", 1000) + "\n"
			for range 20_000 {
				fmt.Fprint(os.Stderr, line)
			}
			fmt.Fprint(os.Stderr, strings.Repeat("y", 1<<20)) // a line without an end
		case "garbage":
			fmt.Print("Server ready!\n\n  \n{\"n\":1}\r\n[{\"n\":0}]\n{\"n\":\n \t{\"n\":2} \n\"text\"\n{\"n\":3}}\n42\n\xff\xfe\n{\"n\":4}")
		case "wide":
			fmt.Println(`{"n":"` + strings.Repeat("a", 10<<20) + `"}`)
		case "endless":
			fmt.Println(strings.Repeat("a", 20<<20))
		case "child":
			spawn("deaf ready forever", &syscall.SysProcAttr{}, os.Stdout)
		case "group":
			spawn("deaf ready forever", &syscall.SysProcAttr{Setpgid: true}, os.Stdout)
		case "session":
			spawn("deaf ready forever", &syscall.SysProcAttr{Setsid: true}, os.Stdout)
		case "daemon": // its parent has ended; it holds stdout and stderr
			must(spawn("session", &syscall.SysProcAttr{Setsid: true}, os.Stdout).Wait())
		case "bare": // without the mark, in the group
			cmd := exec.Command("/bin/sh", "-c", `trap "" TERM; echo '{"ready":'$$'}'; while :; do read x </dev/zero; done`)
			cmd.Env, cmd.Stdout = []string{}, os.Stdout
			must(cmd.Start())
		case "ready":
			fmt.Printf("{\"ready\":%d}\n", os.Getpid())
		case "eof":
			_, _ = io.Copy(io.Discard, os.Stdin)
		case "forever":
			forever()
		case "owner": // a jetclaw that dies without a word
			c := Command{Server: "left", Path: os.Args[0], Env: environ("deaf daemon ready forever"), Home: os.Getenv("OWNED"), Log: slog.New(slog.DiscardHandler)}
			p, err := Start(context.Background(), c)
			must(err)
			_, err = io.Copy(os.Stdout, p.Reader())
			must(err)
		}
	}
}

func forever() {
	r, w, err := os.Pipe()
	must(err)
	_, _ = r.Read(make([]byte, 1))
	w.Close()
}

func spawn(mode string, attr *syscall.SysProcAttr, out io.Writer) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = attr, out, os.Stderr
	must(cmd.Start())
	return cmd
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// soon is for what is deaf anyway.
const soon = 20 * time.Millisecond

// environ also keeps the race detector from making each child a second longer.
func environ(mode string) map[string]string {
	return map[string]string{childMode: mode, "GORACE": "atexit_sleep_ms=0"}
}

// command is this binary as a server that does what mode says.
func command(t *testing.T, mode string) Command {
	t.Helper()
	return Command{
		Server: "files", Path: os.Args[0], Env: environ(mode), Home: t.TempDir(),
		Grace: soon, Log: slog.New(slog.DiscardHandler),
	}
}

// start also sees to it that nothing is left at the test's end.
func start(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := marked(c.Home); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return p
}

// marked are the living processes that belong to servers of a home.
func marked(home string) []int {
	var list []int
	for _, pid := range numbers("/proc") {
		if mark, ok := markOf(pid); ok && strings.HasPrefix(mark, homeMark(home)) {
			list = append(list, pid)
		}
	}
	return list
}

func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal(what + ": it hangs")
	}
}
