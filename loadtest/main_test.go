package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
)

// The test binary is also the program of the steps of a report.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "start" {
		main()
	}
	standin.Main(m)
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"dance"}, {"turn", "--sync", "never"}, {"turn", "--history", "1", "--dormant", "1"}, {"turn", "--history", "-1"}, {"kill", "--mix", "some"}, {"kill", "--kills", "0"}, {"kill", "extra"}, {"fakemodel", "--delay", "x"}, {"telegram", "--chats", "0"}, {"telegram", "--chats", "2", "--groups", "3"}, {"telegram", "--delay", "x"}} {
		if code := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard); code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
	}
	if code := run(t.Context(), []string{"kill", "--help"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
		t.Errorf("help: exit %d", code)
	}
}
