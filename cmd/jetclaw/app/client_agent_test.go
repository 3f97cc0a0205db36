package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/intake"
	"github.com/jetclaw/jetclaw/services/tools"
)

// program is one outside of jetclaw, in a session of its own. What goes wrong is told with Error: Fatal would end a
// goroutine of the services.
type program struct {
	t       *testing.T
	conn    *bus.Conn
	session session.ID
}

// say sends a message and returns its id.
func (p program) say(text string) string {
	p.t.Helper()
	r, err := bus.Ask[intake.Receipt](p.t.Context(), p.conn, "intake", "submit", intake.Request{
		Session: string(p.session), From: messagev1.Sender{ID: "local"}, Text: intake.Text(text),
	})
	if err != nil {
		p.t.Error(err)
	}
	return r.MessageID
}

// reply waits until a message is answered, or, unless until says otherwise, a person is asked.
func (p program) reply(message string, r intake.ReplyRequest) intake.Reply {
	p.t.Helper()
	r.Session, r.MessageID, r.WaitMS = string(p.session), message, 9000
	got, err := bus.Ask[intake.Reply](p.t.Context(), p.conn, "intake", "reply", r)
	if err != nil {
		p.t.Error(err)
	}
	return got
}

// results are those of the calls of one message's turn, in the journal.
func (p program) results(message string) (found []callv1.Completed) {
	p.t.Helper()
	for _, ev := range p.history() {
		if b, ok := ev.Body.(callv1.Completed); ok && b.Turn == message+"/t" {
			found = append(found, b)
		}
	}
	return found
}

func (p program) history() []envelope.Event {
	p.t.Helper()
	events, err := p.conn.History(p.t.Context(), p.session, 0)
	if err != nil {
		p.t.Error(err)
	}
	return events
}

// kinds are those of a turn's events, without what the outbox says of the answer.
func (p program) kinds(message string) (kinds []string) {
	p.t.Helper()
	began := false
	for _, ev := range p.history() {
		began = began || ev.ID == message
		if began && !strings.HasPrefix(ev.Kind(), "delivery.") {
			kinds = append(kinds, ev.Kind())
		}
	}
	return kinds
}

const outside = `
models: {default: offline}
channels: {http: {listen: "off"}}
agents: {claude: {client: true, tools: {allow: ["read_*", remember]}}}
`

// TestAProgramOutside has its calls made as those of any agent: what it may not is refused, what a person has to allow waits for
// that, also over the end of the process.
func TestAProgramOutside(t *testing.T) {
	e := newEnv(t)
	c, _, err := config.Parse("jetclaw.yaml", []byte(outside))
	if err != nil {
		t.Fatal(err)
	}
	e.Config = c
	claude := program{t: t, session: "claude.mcp.default.t1"}
	var parked string
	in := func(fn func(p program)) {
		t.Helper()
		err := e.WithServices(t.Context(), func(_ context.Context, c Client) error {
			p := claude
			p.conn = c.Conn
			fn(p)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	in(func(p program) {
		testOffered(p)
		if err := os.WriteFile(filepath.Join(e.Home.Resolve("workspace"), "x"), []byte("<b>as it is</b>\n"), 0o600); err != nil {
			t.Error(err)
		}
		m := p.say(`!tool read_file {"path":"x"}`)
		r, done := p.reply(m, intake.ReplyRequest{}), p.results(m)
		if r.Status != "completed" || len(done) != 1 || done[0].Outcome != callv1.OK || done[0].Content != r.Text || !strings.Contains(r.Text, "<b>as it is</b>") {
			t.Errorf("%+v, %+v", r, done)
		}
		want := []string{
			"message.received", "turn.started", "turn.stepped", "call.dispatched", "call.started", "call.completed",
			"turn.continued", "turn.completed",
		}
		if got := p.kinds(m); !slices.Equal(got, want) {
			t.Errorf("the journal has %q", got)
		}
		m = p.say(`!tool write_file {"path":"x","content":"y"}`)
		if r := p.reply(m, intake.ReplyRequest{}); r.Status != "completed" || !strings.Contains(r.Text, `there is no tool "write_file" here`) {
			t.Errorf("%+v", r)
		}
		parked = p.say(`!tool remember {"text":"the door is red"}`)
		r = p.reply(parked, intake.ReplyRequest{})
		if r.Status != "awaiting_approval" || len(r.Approvals) != 1 || len(p.results(parked)) != 0 {
			t.Errorf("%+v", r)
		}
		stranger := p
		stranger.session = "main.mcp.default.t1"
		if r := stranger.reply(stranger.say("!tool now"), intake.ReplyRequest{}); r.Status != "failed" || !strings.Contains(r.Text, "no client agent") {
			t.Errorf("%+v", r)
		}
	})
	in(func(p program) {
		r := p.reply(parked, intake.ReplyRequest{})
		if len(r.Approvals) != 1 {
			t.Errorf("%+v", r)
			return
		}
		_, err := bus.Ask[approvals.DecideAnswer](p.t.Context(), p.conn, "approvals", "decide", approvals.DecideRequest{
			Approval: r.Approvals[0].ID, Decision: callv1.AllowOnce,
		})
		if err != nil {
			t.Error(err)
		}
		r = p.reply(parked, intake.ReplyRequest{Until: "answer"})
		if done := p.results(parked); r.Status != "completed" || len(done) != 1 || done[0].Outcome != callv1.OK || done[0].Content != r.Text {
			t.Errorf("%+v, %+v", r, done)
		}
		kinds := p.kinds(parked)
		for _, kind := range []string{"call.awaiting", "approval.requested", "approval.decided", "call.dispatched", "call.completed"} {
			if !slices.Contains(kinds, kind) {
				t.Errorf("there is no %s: %q", kind, kinds)
			}
		}
		for _, ev := range p.history() {
			if b, ok := ev.Body.(turnv1.Completed); ok && (b.Model != "relay/client" || b.Usage.Cost != 0 || !b.Usage.Priced) {
				t.Errorf("%+v", b)
			}
		}
		notes, err := os.ReadFile(filepath.Join(e.Home.Resolve("workspace"), "MEMORY.md"))
		if err != nil || strings.Count(string(notes), "the door is red") != 1 {
			t.Errorf("%s, %v", notes, err)
		}
	})
}

// testOffered: a program is told of what it may use, and of nothing else.
func testOffered(p program) {
	p.t.Helper()
	list, err := bus.Ask[tools.Explained](p.t.Context(), p.conn, "tools", "explain", tools.ExplainRequest{Agent: "claude", Client: true})
	var names []string
	for _, c := range list.Tools {
		for _, tool := range c.Tools {
			names = append(names, tool.Name)
		}
	}
	if got := strings.Join(names, " "); err != nil || got != "read_attachment read_file read_result remember" {
		p.t.Errorf("%s, %v", got, err)
	}
	_, err = bus.Ask[tools.Explained](p.t.Context(), p.conn, "tools", "explain", tools.ExplainRequest{Agent: config.MainAgent, Client: true})
	if fault.KindOf(err) != fault.NotFound {
		p.t.Errorf("main: %v", err)
	}
}
