package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/intake"
)

// knocked writes into a home's journal that people have asked to be let in. Nobody else may have the home.
func (u *user) knocked(list ...accessv1.Requested) {
	u.t.Helper()
	h, err := home.Find(func(string) (string, bool) { return u.home, true })
	if err != nil {
		u.t.Fatal(err)
	}
	e := app.Env{
		Home: h, Config: config.Default(), Lookup: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		Secrets: &logs.Redactor{}, Log: slog.New(slog.DiscardHandler), Command: "test", Notice: func(string) {},
	}
	err = e.WithJournal(u.t.Context(), func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		prev, err := owner.Journal().Last(ctx, accessv1.Session)
		for _, r := range list {
			if err == nil {
				prev, err = owner.Journal().Append(ctx, envelope.Event{Session: accessv1.Session, Prev: prev, Body: r})
			}
		}
		if err != nil {
			return err
		}
		return owner.Close(ctx)
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

func wants(account, who, name, code string) accessv1.Requested {
	return accessv1.Requested{
		Door: accessv1.Door{Channel: "telegram", Account: account}, Who: who, Name: name, Code: code, Expires: time.Now().Add(50 * time.Minute),
	}
}

func (u *user) paired() (l intake.PairingList) {
	u.t.Helper()
	r := u.run("pairing", "list", "--json")
	r.want(u.t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil {
		u.t.Fatalf("%v: %s", err, r.stdout)
	}
	return l
}

// TestPairing: people are let in and sent away with no daemon at all.
func TestPairing(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("pairing", "list").want(t, 0, "note: nobody asks to be let in, and nobody was")
	if r := u.run("pairing", "list", "--json"); r.stdout != `{"requests":[],"people":[]}`+"\n" {
		t.Errorf("%s", r.stdout)
	}
	late := wants("mybot", "telegram:9", "Late", "LLLLLLLL")
	late.Expires = time.Now()
	u.knocked(late, wants("mybot", "telegram:12345", "Eve \x1b[31mAdams\u202e", "K7QW2MXR"), wants("mybot", "telegram:2", "", "ABCDEFGH"))

	r := u.run("pairing", "list")
	r.want(t, 0, "be sure that it was them who told you the code")
	lines := strings.Split(r.stdout, "\n")
	if len(lines) != 4 || strings.Join(strings.Fields(lines[0]), " ") != "code expires in bot who name" ||
		!strings.HasPrefix(lines[1], "K7QW2MXR         4") || !strings.HasSuffix(lines[1], "m  mybot  telegram:12345  Eve [31mAdams") {
		t.Errorf("%s", r.stdout)
	}
	if l := u.paired(); len(l.Requests) != 2 || l.Requests[0].Code != "K7QW2MXR" || l.Requests[0].Account != "mybot" || len(l.People) != 0 {
		t.Errorf("%+v", l)
	}
	u.run("pairing", "approve", "K7QW2MXS").want(t, 1, `nobody waits with the code "K7QW2MXS"`, "when they write to the bot again", "did you mean K7QW2MXR?")
	u.run("pairing", "approve", "ZZZZZZZZ").want(t, 1, "`jetclaw pairing list` shows those that are open")
	u.run("pairing", "approve", "LLLLLLLL").want(t, 1, "a code is good for an hour")

	r = u.run("pairing", "approve", "k7qw2mxr")
	r.want(t, 0, "there is no bot mybot in the configuration")
	if r.stdout != "telegram:12345 (Eve [31mAdams) may write to the bot mybot.\n" {
		t.Errorf("%s", r.stdout)
	}
	if r := u.run("pairing", "approve", "K7QW2MXR"); r.code != 0 || !strings.HasSuffix(r.stdout, ". So it was before.\n") {
		t.Errorf("%+v", r)
	}
	r = u.run("pairing", "approve", "K7QW2MXR", "--owner")
	if r.code != 0 || !strings.HasSuffix(r.stdout, ", and is an owner: they may approve what agents ask for.\n") {
		t.Errorf("%+v", r)
	}
	var a intake.PairingApproved
	r = u.run("pairing", "approve", "ABCDEFGH", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil || a.Who != "telegram:2" || a.Account != "mybot" || a.Already || a.Owner || a.By != "local" || a.Told {
		t.Errorf("%v: %s", err, r.stdout)
	}
	r = u.run("pairing", "list")
	r.want(t, 0)
	if !strings.HasPrefix(r.stdout, "let in ") || !strings.Contains(r.stdout, "mybot  telegram:12345  owner  Eve [31mAdams\n") || !strings.Contains(r.stdout, "telegram:2      guest\n") {
		t.Errorf("%s", r.stdout)
	}

	u.run("pairing", "revoke", "12345", "--account", "other").want(t, 1, "telegram:12345 was not let in at the bot other")
	r = u.run("pairing", "revoke", "12345", "--account", "mybot")
	r.want(t, 0)
	if r.stdout != "telegram:12345 was sent away from the bot mybot, and is no owner any more.\n" {
		t.Errorf("%s", r.stdout)
	}
	u.run("pairing", "revoke", "telegram:12345").want(t, 1, "telegram:12345 was not let in")
	var gone intake.PairingRevoked
	r = u.run("pairing", "revoke", "2", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &gone); err != nil || gone.Who != "telegram:2" || len(gone.Doors) != 1 || gone.Owner || len(gone.Still) != 0 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	if l := u.paired(); len(l.Requests)+len(l.People) != 0 {
		t.Errorf("%+v", l)
	}
	if got, want := types(u.journal("--session", string(accessv1.Session))), "access.granted.v1"; got[len(got)-1] != "access.revoked.v1" || got[3] != want {
		t.Errorf("%q", got)
	}
}

// TestPairingAtAConfiguredBot: who is let in is told so in their session, and what the configuration says is told to who revokes.
func TestPairingAtAConfiguredBot(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {telegram: {mybot: {token: \"env:NO_TOKEN\", allow: [12345]}}}\n")
	u.knocked(wants("mybot", "telegram:12345", "Eve", "K7QW2MXR"))
	u.run("pairing", "approve", "K7QW2MXR").want(t, 0, "note: they are told when `jetclaw run` is started")
	u.run("pairing", "approve", "K7QW2MXR").want(t, 0)
	if got := types(u.journal("--session", "main.telegram.mybot.12345")); len(got) == 0 || got[0] != "notice.posted.v1" || slices.Contains(got[1:], "notice.posted.v1") {
		t.Errorf("%q", got)
	}
	u.run("pairing", "revoke", "12345").want(t, 0, "warning: the configuration still lets them in at mybot")
	u.run("pairing", "revoke", "12345").want(t, 1, "the configuration lets them in at mybot, by access, allow or owners")
}

func TestPairingUsage(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for line, want := range map[string]string{
		"pairing aprove":      `did you mean "approve"?`,
		"pairing list x":      `does not take "x"`,
		"pairing approve":     "takes one code",
		"pairing approve a b": "takes one code",
		"pairing revoke":      "takes the number of one person",
		"pairing revoke @ada": "want the number of a person, as 12345 or telegram:12345",
		"pairing revoke 0":    "want the number of a person",
	} {
		u.run(strings.Fields(line)...).want(t, 2, want)
	}
	for _, c := range []string{"", "list", "approve", "revoke"} {
		r := u.run(append([]string{"pairing"}, append(strings.Fields(c), "--help")...)...)
		if r.code != 0 || !strings.Contains(r.stdout, "Examples:") {
			t.Errorf("jetclaw pairing %s --help: %+v", c, r)
		}
	}
}

// TestPairingAtADaemon: it is the daemon that lets in; completion asks it, and reads the journal when there is none.
func TestPairingAtADaemon(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	u.knocked(wants("mybot", "telegram:12345", "Eve", "K7QW2MXR"))
	const offered = "K7QW2MXR\ttelegram:12345 (Eve) at mybot\n"
	if r := u.run("__complete", "pairing", "approve", ""); !strings.HasPrefix(r.stdout, offered) {
		t.Errorf("%q", r.stdout)
	}
	d := u.start()
	if r := u.run("__complete", "pairing", "approve", ""); !strings.HasPrefix(r.stdout, offered) {
		t.Errorf("%q", r.stdout)
	}
	u.run("pairing", "approve", "K7QW2MXR").want(t, 0)
	if l := u.paired(); len(l.Requests) != 0 || len(l.People) != 1 || l.People[0].Who != "telegram:12345" {
		t.Errorf("%+v", l)
	}
	// Over HTTP nobody is let in, nor listed.
	for _, path := range []string{"/v1/pairing", "/v1/pairing-list", "/v1/pairing/approve"} {
		var told map[string]any
		if status := u.call("GET", "http://"+address+path, "", &told); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
