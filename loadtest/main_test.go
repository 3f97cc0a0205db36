package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/floor"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/result"
)

// The test binary is also the daemon that the scenarios start, and the child in which they measure floors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run":
			if err := standInMain(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "version":
			os.Exit(0)
		case "mcp":
			if os.Args[2] == "serve" {
				if err := standInServe(os.Args[3:]); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				os.Exit(0)
			}
			fmt.Println(`{"servers":[{"name":"peer","tools":1}]}`)
			os.Exit(0)
		case "replay":
			os.Exit(standInReplay())
		case floor.BusCommand, floor.WebCommand, floor.AppendCommand, floor.ScanCommand, floor.OpenCommand, "start", fakemcp.Command:
			main()
		}
	}
	os.Exit(m.Run())
}

// scenario runs a command against the stand-in.
func scenario(t *testing.T, args ...string) (code int, out, notes string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var o, n bytes.Buffer
	code = run(t.Context(), append(args, "--binary", self), strings.NewReader(""), &o, io.MultiWriter(&n, testWriter{t}))
	return code, o.String(), n.String()
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func killArgs(more ...string) []string {
	return append([]string{"kill", "--kills", "3", "--sessions", "10", "--sync", "interval", "--delay", "400ms-800ms", "--max-up", "300ms", "--drain", "3s", "--settle", "2s", "--seed", "7"}, more...)
}

func TestKillFindsNothingWrongWithADaemonThatKeepsItsPromises(t *testing.T) {
	code, out, _ := scenario(t, killArgs("--json", "-")...)
	var r killReport
	if err := decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	c := r.Verdict.Counts
	if len(r.Verdict.Violations) != 0 || c.Accepted == 0 || c.Pushed < c.Accepted || len(r.Lives) < r.Kills {
		t.Errorf("exit %d, %+v", code, r)
	}
	if code != 0 { // three kills are too few for their share in flight to count
		t.Errorf("exit %d", code)
	}
}

func TestKillFindsForgottenMessages(t *testing.T) {
	t.Setenv("STANDIN_BUG", "forget")
	code, out, notes := scenario(t, killArgs("--json", "-")...)
	var r killReport
	if err := decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 1 || r.Verdict.Of(judge.Lost) == 0 || !strings.Contains(notes, "accepted and is not in the journal") {
		t.Errorf("exit %d, %d lost", code, r.Verdict.Of(judge.Lost))
	}
}

func TestKillFindsWhatWouldBeDecidedOtherwise(t *testing.T) {
	t.Setenv("STANDIN_BUG", "otherwise")
	code, out, notes := scenario(t, killArgs()...)
	if code != 1 || !strings.Contains(out, "1 at least: 4 (turn.started.v1)") || !strings.Contains(notes, "otherwise main.http.default.") ||
		!strings.Contains(notes, `data.attempt: then 1, now 2`) || !strings.Contains(notes, "kept: ") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestKillFailsWhenItsJournalCannotBeReplayed(t *testing.T) {
	t.Setenv("STANDIN_BUG", "silent")
	code, out, notes := scenario(t, killArgs()...)
	if code != 1 || !strings.Contains(out, "not known of all") || !strings.Contains(notes, "jetclaw replay, exit code 0") || !strings.Contains(notes, "kept: ") {
		t.Errorf("exit %d", code)
	}
}

func TestKillFindsDoubleAnswers(t *testing.T) {
	t.Setenv("STANDIN_BUG", "twice")
	code, out, notes := scenario(t, killArgs()...)
	if code != 1 || !strings.Contains(out, "doubled") || !strings.Contains(notes, "turn.completed of turn") || !strings.Contains(notes, "turn.completed  standin/1") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestTurnReportsBesideItsFloors(t *testing.T) {
	code, out, _ := scenario(t, "turn", "--sessions", "1,4", "--sync", "interval", "--rounds", "1", "--warmup", "100ms", "--duration", "300ms", "--json", "-")
	var r turnReport
	if err := decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 0 || len(r.Lines) != 2 || len(r.Goals) == 0 {
		t.Fatalf("exit %d, %s", code, out)
	}
	for _, l := range r.Lines {
		if l.Turn.P50 == 0 || l.Added.N == 0 || l.BusTurn.P50 == 0 || l.HTTP.P50 == 0 || l.PerSecond == 0 || l.RSS == 0 || l.Ratios.TurnBothP50 == 0 {
			t.Errorf("%+v", l)
		}
		if want := "message.received turn.started turn.completed delivery.sent"; kinds(l.Shape) != want || len(l.Shape.Steps[0].Rings) != 1 {
			t.Errorf("shape %s", l.Shape)
		}
	}
}

func kinds(s floor.Shape) string {
	var all []string
	for _, st := range s.Steps {
		all = append(all, st.Kind)
	}
	return strings.Join(all, " ")
}

func TestStartReports(t *testing.T) {
	dir := t.TempDir()
	data, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	code, out, _ := scenario(t, "start", "--starts", "2", "--turns", "10", "--json", data, "--html", page)
	if code != 0 || !strings.Contains(out, "idle memory") || !strings.Contains(out, "start to ready") {
		t.Errorf("exit %d, %s", code, out)
	}
	r, err := result.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := r.Figure("start.ready"); !ok || len(f.Values) != 2 || f.Value <= 0 || f.Unit != "ms" || f.Goal == "" {
		t.Errorf("%+v", f)
	}
	if r.Scenario != "start" || r.Options["turns"] != "10" || r.Options["binary"] != "" || r.Machine.Cores == 0 || r.Machine.NATS == "" || len(r.Series) != 1 {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "<svg ") || !strings.Contains(string(b), "start to ready, empty home") {
		t.Errorf("%v, %.500s", err, b)
	}
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

// decode reads the scenario's own report out of a result.
func decode(out string, into any) error {
	r := result.Result{Detail: into}
	return json.Unmarshal([]byte(out), &r)
}
