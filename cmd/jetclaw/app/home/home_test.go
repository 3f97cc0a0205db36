package home

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be another process that holds a home.
func TestMain(m *testing.M) {
	if dir := os.Getenv("HOLD_HOME"); dir != "" {
		l, err := Home{dir: dir}.Acquire(Holder{PID: os.Getpid(), Command: "jetclaw run", Since: time.Now(), Serves: true})
		if err == nil {
			err = l.WriteEndpoint(Endpoint{PID: os.Getpid(), URL: "nats://127.0.0.1:1"})
		}
		fmt.Println("held", err)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		runtime.KeepAlive(l)
	}
	os.Exit(m.Run())
}

func open(t *testing.T) Home {
	t.Helper()
	h, err := Find(func(name string) (string, bool) {
		return map[string]string{EnvVar: filepath.Join(t.TempDir(), "home")}[name], true
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Create(); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"variable": {map[string]string{EnvVar: "/srv/x", "HOME": "/root"}, "/srv/x"},
		"default":  {map[string]string{"HOME": "/root"}, "/root/.jetclaw"},
		"neither":  {nil, ""},
	} {
		h, err := Find(func(n string) (string, bool) { v, ok := c.env[n]; return v, ok })
		if h.Dir() != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q %v", name, h.Dir(), err)
		}
	}
}

func TestLayoutIsPrivate(t *testing.T) {
	h := open(t)
	for _, dir := range []string{h.Dir(), h.Data(), h.Keys(), h.run()} {
		st, err := os.Stat(dir)
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, st.Mode(), err)
		}
	}
}

func TestOneProcessAHome(t *testing.T) {
	h := open(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(exe)
	other.Env = append(os.Environ(), "HOLD_HOME="+h.Dir())
	if _, err := other.StdinPipe(); err != nil { // stays open
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held <nil>\n" {
		t.Fatalf("%q %v", line, err)
	}
	_, err = h.Acquire(Holder{PID: os.Getpid(), Command: "jetclaw chat"})
	var held *HeldError
	if !errors.As(err, &held) || held.Holder.PID != other.Process.Pid || !held.Holder.Serves {
		t.Fatalf("got %v", err)
	}
	if want := fmt.Sprintf("process %d (jetclaw run) is using %s", other.Process.Pid, h.Dir()); !strings.Contains(err.Error(), want) {
		t.Errorf("got %s", err)
	}
	if e, err := h.Endpoint(); err != nil || e.PID != other.Process.Pid {
		t.Errorf("%+v %v", e, err)
	}
	// It is killed: nothing is cleaned up by it, and nothing needs to be.
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err == nil {
		t.Fatal("killed without a trace")
	}
	l, err := h.Acquire(Holder{PID: os.Getpid(), Command: "jetclaw chat"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Endpoint(); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("the endpoint of the killed one is still there: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestEndpoint(t *testing.T) {
	h := open(t)
	l, err := h.Acquire(Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := Endpoint{PID: 1, URL: "nats://127.0.0.1:4222", HTTP: "127.0.0.1:7450", Version: "x"}
	if err := l.WriteEndpoint(want); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Endpoint(); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if st, err := os.Stat(h.endpoint()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	if err := os.WriteFile(h.endpoint(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Endpoint(); err == nil || errors.Is(err, ErrNoEndpoint) {
		t.Errorf("got %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Endpoint(); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("got %v", err)
	}
}

func TestToken(t *testing.T) {
	h := open(t)
	token, err := h.Token()
	if err != nil || len(token) < 32 {
		t.Fatal(token, err)
	}
	if again, err := h.Token(); err != nil || again != token {
		t.Errorf("%q %v", again, err)
	}
	if err := os.Chmod(h.HTTPToken(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Token(); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(h.HTTPToken(), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.HTTPToken(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Token(); err == nil {
		t.Error("a short token passes")
	}
}

func TestAcquireIndex(t *testing.T) {
	h := open(t)
	release, err := h.AcquireIndex(Holder{PID: 7, Command: "jetclaw run"})
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := h.AcquireIndex(Holder{PID: 8}); !errors.As(err, &held) || held.Holder.PID != 7 || held.Dir != h.Index() {
		t.Errorf("a second one: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if release, err = h.AcquireIndex(Holder{PID: 8}); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
