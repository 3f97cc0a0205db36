package clock

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A program that tells the time whenever it is asked, by both clocks.
const teller = `package main

import ("bufio"; "fmt"; "os"; "time")

func main() {
	begun := time.Now()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(time.Now().Unix(), int(time.Since(begun)/time.Minute), time.Now().Round(0).Sub(begun.Round(0)).Round(time.Hour))
	}
}
`

func TestAStepIsSeenAtOnceAndByTheWallClockOnly(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte(teller), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := Build(t.Context(), dir, src)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Env = append(os.Environ(), c.Environ())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		if err := c.Set(ahead); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write([]byte("\n")); err != nil || !said.Scan() {
			t.Fatalf("it does not answer: %v", err)
		}
		f := strings.Fields(said.Text())
		unix, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(time.Unix(unix, 0)).Round(time.Minute); off != ahead || f[1] != "0" || f[2] != ahead.String() {
			t.Errorf("%v ahead: it says %v (%s)", ahead, off, said.Text())
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
