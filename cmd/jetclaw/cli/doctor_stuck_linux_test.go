package cli

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// admin is a hand in the running daemon's store.
func (u *user) admin() *bus.Conn {
	u.t.Helper()
	var at home.Endpoint
	data, err := os.ReadFile(filepath.Join(u.home, "run", "endpoint.json"))
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	seed, err := os.ReadFile(filepath.Join(u.home, "keys", "admin.nk"))
	if err != nil {
		u.t.Fatal(err)
	}
	c, err := bus.Connect(u.t.Context(), bus.ConnOptions{
		Service: bus.Admin, URL: at.URL, Seed: []byte(strings.TrimSpace(string(seed))), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(c.NATS().Close)
	return c
}

// stuck is the evidence of one finding.
func (x examined) stuck(t *testing.T, id string) health.Stuck {
	t.Helper()
	for _, f := range x.Findings {
		if f.ID == id {
			var s health.Stuck
			if err := json.Unmarshal(f.Evidence, &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	t.Fatalf("no %s in %+v", id, x.Findings)
	return health.Stuck{}
}

// settle takes the next doorbell of a service away from it.
func settle(t *testing.T, admin *bus.Conn, service string) {
	t.Helper()
	cons, err := admin.JetStream().Consumer(t.Context(), subject.Journal, service)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cons.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDoctorFreesASession: a message whose doorbell somebody has settled is named, with the doorbell; a ring has it answered.
func TestDoctorFreesASession(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	u.start("--target", "nats,intake,outbox,conversations")
	var got receipt
	if code := u.call("POST", "http://"+address+"/v1/messages", `{"session":"a","text":"hi"}`, &got); code != http.StatusAccepted {
		t.Fatalf("HTTP %d", code)
	}
	x := u.doctor(1)
	x.says(t, "sessions", health.Fine) // it waits, and will be taken
	x.says(t, "consumers", health.Problem, "1 doorbell waits at turns, and nobody takes them", "--target turns")
	settle(t, u.admin(), "turns")
	const wedged = "main.http.default.a"
	check := func(x examined) {
		t.Helper()
		s := x.stuck(t, "session.stuck")
		if s.Session != wedged || s.Service != "turns" || s.Step != "to append turn.started.v1" || s.Doorbell == nil ||
			s.Doorbell.Kind != "message.received" || s.Doorbell.Cursor == 0 || s.Doorbell.AckFloor < s.Doorbell.Cursor || s.Last != s.Doorbell.Cursor {
			t.Errorf("%+v", s)
		}
		x.says(t, "sessions", health.Problem, wedged, "turns", "message.received", "settled", "--repair")
	}
	check(u.doctor(1)) // no worker
	u.start("--target", "turns")
	check(u.doctor(1))
	check(u.doctor(1, "--deep"))
	x = u.doctor(0, "--repair")
	if s := x.stuck(t, "session.repaired"); s.Session != wedged {
		t.Errorf("%+v", s)
	}
	var answer reply
	u.call("GET", "http://"+address+"/v1/messages/"+got.MessageID+"/reply?wait=20s", "", &answer)
	if answer.Status != "completed" {
		t.Errorf("%+v", answer)
	}
	u.doctor(0)
}

// TestDoctorRingsForLater: without a worker the ring waits for one.
func TestDoctorRingsForLater(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	d := u.start("--target", "nats,intake,outbox,conversations")
	var got receipt
	u.call("POST", "http://"+address+"/v1/messages", `{"session":"a","text":"hi"}`, &got)
	settle(t, u.admin(), "turns")
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
	u.doctor(1).stuck(t, "session.stuck")
	u.doctor(0, "--repair").says(t, "sessions", health.Warning, "rung: it goes on when turns runs", "jetclaw run")
	u.doctor(0)
	u.start()
	var answer reply
	u.call("GET", "http://"+address+"/v1/messages/"+got.MessageID+"/reply?wait=20s", "", &answer)
	if answer.Status != "completed" {
		t.Errorf("%+v", answer)
	}
}

// TestDoctorFindsALostTimer: what waits for a time needs somebody who wakes it then.
func TestDoctorFindsALostTimer(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	u.start()
	v := u.parked(asksFor)
	u.doctor(0)
	timers, err := u.admin().JetStream().Stream(t.Context(), subject.Timers)
	if err != nil {
		t.Fatal(err)
	}
	if err := timers.Purge(t.Context(), jetstream.WithPurgeSubject(subject.Schedule("approvals", v.Session))); err != nil {
		t.Fatal(err)
	}
	x := u.doctor(1)
	s := x.stuck(t, "session.stuck")
	if s.Session != v.Session || s.Service != "approvals" || !s.Due.Equal(v.Expires) {
		t.Errorf("%+v, want %s", s, v.Expires)
	}
	x.says(t, "sessions", health.Problem, "no timer", "approvals")
	u.doctor(0, "--repair").stuck(t, "session.repaired")
	again, err := bus.TimersOf(t.Context(), u.admin(), v.Session)
	if err != nil || len(again) != 1 || again[0].At.Sub(v.Expires).Abs() > time.Second {
		t.Errorf("%+v, %v; want one at %s", again, err, v.Expires)
	}
	u.doctor(0)
}

// TestDoctorOfASnapshotThatCannotBeRead: a daemon that ends meanwhile makes no snapshot wrong.
func TestDoctorOfASnapshotThatCannotBeRead(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	u.start()
	u.run("chat", "one").want(t, 0)
	const id = session.ID("main.terminal.local.default")
	admin := u.admin()
	events, err := admin.History(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	machines, err := app.Machines(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	newer := bus.Snapshot{Cursor: events[1].Cursor}
	x := examination{admin: admin}
	admin.NATS().Close()
	if _, why, err := x.kept(t.Context(), machines[0], newer, sample{id, events[:1]}); err == nil {
		t.Errorf("it counts as wrong: %s", why)
	}
}

// TestDoctorMends: a consumer that is gone, and one that begins elsewhere, are found and brought back.
func TestDoctorMends(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	u.start()
	u.run("chat", "one").want(t, 0)
	js := u.admin().JetStream()
	if err := js.DeleteConsumer(t.Context(), subject.Timers, "timers-tools"); err != nil {
		t.Fatal(err)
	}
	cons, err := js.Consumer(t.Context(), subject.Journal, "turns")
	if err != nil {
		t.Fatal(err)
	}
	conf := cons.CachedInfo().Config
	conf.DeliverPolicy = jetstream.DeliverNewPolicy
	if err := js.DeleteConsumer(t.Context(), subject.Journal, "turns"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), subject.Journal, conf); err != nil {
		t.Fatal(err)
	}
	x := u.doctor(1)
	x.says(t, "bus", health.Problem, "there is no consumer TIMERS/timers-tools", "--repair")
	x.says(t, "bus", health.Problem, "consumer EV/turns is not as this version has it", "deliver_policy")
	x = u.doctor(0, "--repair")
	x.says(t, "bus", health.Fine, "EV/turns is as it should be again")
	x.says(t, "bus", health.Fine, "TIMERS/timers-tools")
	u.doctor(0).says(t, "bus", health.Fine, "are as they should be")
	u.run("chat", "two").want(t, 0)
	if n := len(types(u.journal())); n != 2*len(aTurn()) {
		t.Errorf("%d events: what rang again has done something", n)
	}
}

// TestDoctorFindsAHole: a message that is missing from the middle of a session is found and shown, and all else goes on.
func TestDoctorFindsAHole(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	d := u.start()
	u.run("chat", "--session", "broken", "one").want(t, 0)
	u.run("chat", "--session", "whole", "one").want(t, 0)
	var at []uint64
	for _, e := range u.journal("--session", "broken") {
		at = append(at, e.Cursor)
	}
	js, err := u.admin().JetStream().Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteMsg(t.Context(), at[1]); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--deep"}} {
		x := u.doctor(1, flags...)
		holes := 0
		for _, f := range x.Findings {
			if f.ID != "chain.hole" {
				continue
			}
			holes++
			var b health.Break
			if err := json.Unmarshal(f.Evidence, &b); err != nil || b.Session != "main.terminal.local.broken" || b.At != at[2] || b.Prev != at[1] {
				t.Errorf("%+v, %v", b, err)
			}
		}
		if holes != 1 {
			t.Errorf("%v: %d holes in %+v", flags, holes, x.Findings)
		}
	}
	u.run("chat", "--session", "whole", "two").want(t, 0)
	if got := types(u.journal("--session", "broken")); len(got) != len(at)-1 {
		t.Errorf("%q", got)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	u.doctor(1) // without a daemon, too
}

// TestDoctorFindsForeigners: what is no event, and what a newer jetclaw has written.
func TestDoctorFindsForeigners(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	u.start()
	u.run("chat", "one").want(t, 0)
	const id = session.ID("main.terminal.local.default")
	admin := u.admin()
	alien := publish(t, admin, subject.OfEvent(id, "message.received", ""), nats.Header{"x": {"y"}}, "no event")
	publish(t, admin, subject.OfEvent("main.http.default.new", "message.received", ""), foreign("main.http.default.new", 0, "message.received.v9"), "{}")
	publish(t, admin, subject.OfEvent(id, "message.received", ""), foreign(id, alien, "message.received.v1"), "{")
	for _, flags := range [][]string{nil, {"--deep"}} {
		x := u.doctor(1, flags...)
		x.says(t, "chains", health.Problem, "is no event", string(id))
		x.says(t, "chains", health.Problem, "cannot be read: message.received.v1", string(id))
		x.says(t, "sessions", health.Warning, "written by a newer jetclaw (message.received.v9)", "main.http.default.new")
		for _, f := range x.Findings {
			if strings.HasPrefix(f.ID, "chain.hole") || strings.HasPrefix(f.ID, "chain.passed") {
				t.Errorf("%+v", f)
			}
		}
	}
}

func foreign(s session.ID, prev uint64, typ string) nats.Header {
	h := nats.Header(envelope.HeaderOf(envelope.Event{
		ID: "f" + typ, Session: s, Prev: prev, Time: time.Now(), Source: "elsewhere/1", Body: messagev1.Received{},
	}))
	h[envelope.HeaderType] = []string{typ}
	return h
}

func publish(t *testing.T, admin *bus.Conn, subj string, h nats.Header, data string) uint64 {
	t.Helper()
	ack, err := admin.JetStream().PublishMsg(t.Context(), &nats.Msg{Subject: subj, Header: h, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// TestDoctorOfFiles: who else can read the keys is told, and kept out.
func TestDoctorOfFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("chat", "one").want(t, 0)
	key := filepath.Join(u.home, "keys", "admin.nk")
	for path, mode := range map[string]os.FileMode{key: 0o644, u.home: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	x := u.doctor(exitSecrets)
	x.says(t, "files", health.Problem, "admin.nk", "0644", "chmod go=")
	x.says(t, "bus", health.Problem, "others on this machine can reach it") // nothing starts with such keys
	x.says(t, "files", health.Warning, u.home, "0755")
	x = u.doctor(0, "--repair")
	x.says(t, "files", health.Fine, "admin.nk", "it is 0600 now")
	x.says(t, "files", health.Fine, u.home, "it is 0700 now")
	u.doctor(0).says(t, "files", health.Fine, "its owner's alone")
}

// TestDoctorProbes: the servers of models are asked when somebody wants that, and not else.
func TestDoctorProbes(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		if strings.HasPrefix(r.URL.Path, "/refuses/") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
	})
	u := newUser(t, `models:
  default: good/m
  providers:
    good: {api: openai, base_url: "`+server+`/v1", api_key: "env:GOOD_KEY"}
    bad:  {api: anthropic, base_url: "`+server+`/refuses", api_key: "env:BAD_KEY"}
    gone: {api: openai, base_url: "http://127.0.0.1:1/v1", api_key: "env:GOOD_KEY"}
`, "GOOD_KEY=sk-good-0123456789", "BAD_KEY=sk-bad-0123456789")
	u.doctor(0)
	if len(asked) > 0 {
		t.Errorf("asked: %s", <-asked)
	}
	r := u.run("doctor", "--probe")
	if r.code != 1 || strings.Contains(r.stdout+r.stderr, "sk-good") || strings.Contains(r.stdout+r.stderr, "sk-bad") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	x := u.doctor(1, "--probe")
	x.says(t, "models good", health.Fine, "answers")
	x.says(t, "models bad", health.Problem, "401", "api_key")
	x.says(t, "models gone", health.Problem, "refused", "check that the server runs")
	seen := map[string]bool{}
	for len(asked) > 0 {
		seen[<-asked] = true
	}
	if !seen["/v1/models Bearer sk-good-0123456789"] || !seen["/refuses/v1/models sk-bad-0123456789"] {
		t.Errorf("%v", seen)
	}
}
