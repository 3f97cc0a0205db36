package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// everyBox is boxes and none at all.
func everyBox(t *testing.T, s *scene, test func(t *testing.T, b *Box)) {
	t.Helper()
	boxes(t, s.hidden(), test)
	t.Run("none", func(t *testing.T) {
		b, err := New(Options{Mode: None, Self: self})
		if err != nil {
			t.Fatal(err)
		}
		test(t, b)
	})
}

// living are the processes that a command of this scene has left: those that hold its mark in their arguments.
func living(t *testing.T, mark string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		raw, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if bytes.Contains(raw, []byte(mark)) {
			list = append(list, e.Name()+" "+strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return list
}

// TestEndings: each way to end is told, and each leaves no process.
func TestEndings(t *testing.T) {
	s := newScene(t, "/tmp")
	mark := "77" + strconv.Itoa(os.Getpid()) // seconds of a sleep that nobody else sleeps
	long := "sleep " + mark
	cases := map[string]struct {
		text  string
		limit time.Duration // 0: it ends by itself
		want  Status
		out   string
	}{
		"true":                   {text: "exit 0"},
		"exit 42":                {text: "exit 42", want: Status{Code: 42}},
		"not found":              {text: "no-such-program 2>/dev/null", want: Status{Code: 127}},
		"killed":                 {text: "kill -9 $$", want: Status{Signal: "SIGKILL"}},
		"terminated":             {text: "kill -TERM $$", want: Status{Signal: "SIGTERM"}},
		"crash":                  {text: "kill -SEGV $$", want: Status{Signal: "SIGSEGV"}},
		"abort":                  {text: "kill -ABRT $$", want: Status{Signal: "SIGABRT"}},
		"order of two streams":   {text: "echo 1; echo 2 >&2; echo 3; echo 4 >&2", out: "1\n2\n3\n4\n"},
		"reads its input":        {text: "cat; read x || echo end", out: "end\n"},
		"child":                  {text: long + " & echo left", out: "left\n"},
		"child that holds on":    {text: "(trap '' TERM HUP INT; " + long + ") & echo left", out: "left\n"},
		"session of its own":     {text: "setsid " + long + " & echo left", out: "left\n"},
		"daemon":                 {text: "(setsid sh -c '(" + long + " &) &' &) ; echo left", out: "left\n"},
		"daemon without streams": {text: "(setsid sh -c '" + long + " & " + long + "' </dev/null >/dev/null 2>&1 &) ; sleep 0.1; echo left", out: "left\n"},
		"never ends":             {text: "echo begun; " + long, limit: 700 * time.Millisecond, want: Status{Ended: true}, out: "begun\n"},
		"never ends, deaf":       {text: "trap '' TERM HUP INT; while :; do " + long + "; done", limit: 700 * time.Millisecond, want: Status{Ended: true}},
		"never ends, daemons": {
			text:  "for i in 1 2 3; do (setsid sh -c '" + long + " & " + long + "' &); done; " + long,
			limit: 700 * time.Millisecond, want: Status{Ended: true},
		},
		"stopped":    {text: "kill -STOP $$", limit: 700 * time.Millisecond, want: Status{Ended: true}},
		"kill all":   {text: "kill -9 0", want: Status{Signal: "SIGKILL"}},
		"kill first": {text: "kill -9 1 2>/dev/null; kill -STOP $PPID 2>/dev/null; echo on", out: "on\n"},
	}
	everyBox(t, s, func(t *testing.T, b *Box) {
		for name, c := range cases {
			if b.kind == unboxed && name == "kill first" {
				continue // nothing keeps such signals in
			}
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.limit, time.Minute))
				defer cancel()
				out, st := s.in(t, ctx, b, c.text)
				if st != c.want || out != c.out {
					t.Errorf("got %+v %q, want %+v %q", st, out, c.want, c.out)
				}
				if left := living(t, mark); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			})
		}
	})
}

// TestMuch: output is read to its end, even if nobody wants it.
func TestMuch(t *testing.T) {
	s := newScene(t, "/tmp")
	everyBox(t, s, func(t *testing.T, b *Box) {
		var n counter
		st, err := b.Run(t.Context(), Command{Text: "head -c 30000000 /dev/zero; head -c 10000000 /dev/zero >&2", Dir: s.workspace, Env: []string{"PATH=/usr/bin:/bin"}}, &n)
		if err != nil || st != (Status{}) || n != 40_000_000 {
			t.Errorf("%+v, %v, %d bytes", st, err, n)
		}
	})
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return 0, errors.New("full") // whatever the reader thinks, the command goes on
}

// TestForkBomb: it ends when its time is up, completely.
func TestForkBomb(t *testing.T) {
	s := newScene(t, "/tmp")
	mark := "bomb" + strconv.Itoa(os.Getpid())
	boxes(t, s.hidden(), func(t *testing.T, b *Box) {
		// Each one makes two more and waits; a pause keeps the machine usable where nothing but time bounds it.
		text := `cat >bomb <<'END'
sleep 0.2; sh ./bomb ` + mark + ` & sh ./bomb ` + mark + ` & wait
END
sh ./bomb ` + mark
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, st := s.in(t, ctx, b, text); !st.Ended && st.Code == 0 {
			t.Errorf("got %+v", st)
		}
		if left := living(t, mark); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestTasks: in a namespace nobody can have more processes than we allow, root neither.
func TestTasks(t *testing.T) {
	s := newScene(t, "/tmp")
	boxes(t, s.hidden(), func(t *testing.T, b *Box) {
		if b.kind == bare || b.kind == bwrap && os.Geteuid() == 0 {
			return // only time bounds them
		}
		out, _ := s.in(t, t.Context(), b, `rm -f p; mkfifo p; i=0; while [ $i -lt 1500 ]; do { read x <p; } & i=$((i+1)); done 2>&1; echo made $i`)
		if strings.Contains(out, "made 1500") {
			t.Error("1500 processes were made")
		}
	})
}

// TestCallerDies: a command does not outlive who had it run.
func TestCallerDies(t *testing.T) {
	s := newScene(t, "/tmp")
	mark := "88" + strconv.Itoa(os.Getpid())
	everyBox(t, s, func(t *testing.T, b *Box) {
		text := "echo begun; (setsid sleep " + mark + " &); sleep " + mark
		cmd := exec.Command("/proc/self/exe", "caller", string(b.kind), s.workspace, text)
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(s.Home)) // nobody is left to remove it
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := io.ReadAll(io.LimitReader(out, 6)); string(line) != "begun\n" {
			t.Errorf("%q, %v", line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(20 * time.Second); len(living(t, mark)) > 0; <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("left: %q", living(t, mark))
			}
		}
	})
}

// caller is a process that has a command run until it is killed.
func caller(k, dir, text string) int {
	b, err := newBox(kind(k), Options{Self: self})
	if err == nil {
		_, err = b.Run(context.Background(), Command{Text: text, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}, os.Stdout)
	}
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
	}
	return 1
}

// TestLimits: no core files, and no file that fills the disk.
func TestLimits(t *testing.T) {
	s := newScene(t, "/tmp")
	boxes(t, s.hidden(), func(t *testing.T, b *Box) {
		out, st := s.in(t, t.Context(), b, "ulimit -c; ulimit -n; exec truncate -s 2G big")
		if !strings.HasPrefix(out, "0\n4096\n") || st == (Status{}) {
			t.Errorf("%q %+v", out, st)
		}
		if info, err := os.Stat(filepath.Join(s.workspace, "big")); err == nil && info.Size() > 1<<30 {
			t.Errorf("a file of %d bytes", info.Size())
		}
	})
}
