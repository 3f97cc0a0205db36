package turn_test

import (
	"encoding/json"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// drawer draws event bodies over few enough names that they often meet; half of the time they name what runs in s.
type drawer struct {
	t *rapid.T
	s turn.State
}

func (d drawer) pick(name string, values ...string) string {
	return rapid.SampledFrom(values).Draw(d.t, name)
}

func (d drawer) number(name string, from, to int) int {
	return rapid.IntRange(from, to).Draw(d.t, name)
}
func (d drawer) maybe(name string) bool { return rapid.Bool().Draw(d.t, name) }
func (d drawer) message() string        { return d.pick("message", "m1", "m2", "m3", "m4") }
func (d drawer) call() string           { return d.pick("call", "c1", "c2", "c3", "c4") }
func (d drawer) text() string           { return rapid.StringN(0, 8, 20).Draw(d.t, "text") }

func (d drawer) claim() turnv1.Claim {
	if r := d.s.Turn; r != nil && d.maybe("running") {
		return turnv1.Claim{
			Turn: r.ID, Round: r.Claim.Round, Attempt: r.Claim.Attempt, Worker: "w1", Deadline: r.Claim.Deadline, Messages: r.Messages,
		}
	}
	m := d.message()
	c := turnv1.Claim{
		Turn: m + "/t", Round: d.number("round", 1, 3), Attempt: d.number("attempt", 1, 3),
		Worker: d.pick("worker", "w1", "w2"), Deadline: epoch.Add(time.Hour), Messages: []string{m},
	}
	if d.maybe("more") {
		c.Messages = append(c.Messages, d.message())
	}
	return c
}

func (d drawer) usage() turnv1.Usage {
	return turnv1.Usage{Input: d.number("input", -1, 9), Output: 2, Cost: int64(d.number("cost", -1, 9)), Priced: d.maybe("priced")}
}

func (d drawer) outcome() turnv1.Outcome {
	c := d.claim()
	return turnv1.Outcome{Turn: c.Turn, Round: c.Round, Attempt: c.Attempt, Model: d.pick("model", "", "a/b"), Usage: d.usage()}
}

// command is the id of one that waits, or of none.
func (d drawer) command() string {
	ids := []string{"", "x"}
	for _, o := range d.s.Orders {
		ids = append(ids, o.ID)
	}
	for _, it := range d.s.Inbox {
		ids = append(ids, it.ID)
	}
	if d.s.Stop != nil {
		ids = append(ids, d.s.Stop.ID)
	}
	return d.pick("command", ids...)
}

// compaction is the one that runs, or any.
func (d drawer) compaction() (id, through string, attempt int) {
	if c := d.s.Compaction; c != nil && d.maybe("running") {
		return c.ID, c.Through, c.Claim.Attempt
	}
	through = d.message() + "/t"
	if n := len(d.s.Past); n > 0 && d.maybe("of the past") {
		through = d.s.Past[d.number("exchange", 0, n-1)].Turn
	}
	return through + "/c", through, d.number("attempt", 1, 3)
}

// body is any of the machine's world, legal or not.
func (d drawer) body() envelope.Body {
	switch d.number("kind", 0, 8) {
	case 0, 1:
		return d.received()
	case 2, 3:
		return d.outside()
	case 4, 5:
		return d.turn()
	case 6:
		return d.session()
	}
	return d.ending()
}

// received is a message, plain or with anything beside its text.
func (d drawer) received() messagev1.Received {
	b := messagev1.Received{Text: d.text(), Group: d.maybe("group")}
	if d.maybe("plain") {
		return b
	}
	b.Forwarded = d.pick("forwarded", "", "News")
	if d.maybe("quote") {
		b.Quote = &messagev1.Quote{From: "Bob", Own: d.maybe("own"), Text: d.text()}
	}
	for i := range d.number("files", 0, 2) {
		b.Files = append(b.Files, messagev1.File{Kind: messagev1.Photo, Digest: d.pick("digest", "", "a", "b"), Size: int64(i)})
	}
	return b
}

func (d drawer) outside() envelope.Body {
	switch d.number("outside", 0, 10) {
	case 0:
		return messagev1.Edited{Message: d.message(), Text: d.text()}
	case 1, 2:
		return callv1.Completed{Turn: d.claim().Turn, Call: d.call(), Outcome: callv1.Outcome(d.pick("outcome", "ok", "error", "unknown", "timed_out", "refused", "cancelled", "")), Content: d.text()}
	case 3:
		return callv1.Denied{Turn: d.claim().Turn, Call: d.call(), Reason: d.text()}
	case 4:
		return d.rare()
	case 5:
		return asking(d.pick("asking", "await", "request", "decide", "dispatch"), d.claim().Turn, d.call(), d.pick("approval", "a1", ""))
	}
	return messagev1.Control{
		Verb:     messagev1.Verb(d.pick("verb", "stop", "new", "compact", "model", "queue", "status", "help", "dance")),
		Argument: d.pick("argument", "", "keep", "default", "collect", "a/b", "b", "/", "%s"),
	}
}

func (d drawer) turn() envelope.Body {
	switch d.number("turn", 0, 6) {
	case 0, 1, 2:
		return turnv1.Started{Claim: d.claim()}
	case 3:
		return turnv1.Continued{Claim: d.claim()}
	case 4:
		c := d.claim()
		c.Attempt += d.number("later", 0, 1)
		return turnv1.Resumed{Claim: c, From: "w0"}
	case 5:
		return turnv1.Overflowed{Outcome: d.outcome(), Detail: d.text()}
	}
	b := turnv1.Stepped{Outcome: d.outcome(), Text: d.text()}
	for range d.number("calls", 0, 3) {
		b.Calls = append(b.Calls, turnv1.Call{
			ID: d.call(), Tool: "x", Arguments: json.RawMessage(`{"a": "<b>"}`), Refusal: d.pick("refusal", "", "", "no such tool"), Answer: d.pick("answer", "", "yes"),
		})
	}
	return b
}

func (d drawer) ending() envelope.Body {
	c := d.claim()
	o := d.outcome()
	answers := c.Messages
	if d.maybe("same") {
		o.Turn, o.Round, o.Attempt = c.Turn, c.Round, c.Attempt
	}
	switch d.number("ending", 0, 3) {
	case 0:
		return turnv1.Failed{Outcome: o, Answers: answers, Cause: turnv1.ModelGarbage, Text: d.text()}
	case 1:
		return turnv1.Cancelled{
			Turn: d.pick("turn", "", c.Turn), Answers: answers, By: d.command(),
			Reason: turnv1.Reason(d.pick("reason", "", "stopped", "interrupted", "queue_full")),
		}
	}
	return turnv1.Completed{Outcome: o, Answers: answers, Text: d.text()}
}

func (d drawer) session() envelope.Body {
	id, through, attempt := d.compaction()
	by := d.command()
	switch d.number("session", 0, 6) {
	case 0, 1:
		return turnv1.CompactionStarted{Compaction: id, Attempt: attempt, Worker: "w1", Deadline: epoch.Add(time.Hour), Through: through, By: by}
	case 2:
		return turnv1.CompactionFailed{Compaction: id, Attempt: attempt, By: by, Model: d.pick("model", "", "a/b"), Usage: d.usage()}
	case 3:
		return turnv1.SessionCompacted{Compaction: id, Attempt: attempt, By: by, Through: through, Turns: 1, Summary: d.text(), Model: "a/b", Usage: d.usage()}
	case 4:
		return turnv1.SessionConfigured{By: by, Setting: turnv1.Setting(d.pick("setting", "model", "queue", "mood")), Value: d.pick("value", "", "steer", "interrupt", "collect", "odd")}
	}
	return noticev1.Posted{Service: "turns", Answers: []string{by}}
}

func (d drawer) rare() envelope.Body {
	switch d.pick("rare", "reset", "unknown", "refused", "reacted", "nil", "deleted", "notice") {
	case "reset":
		return turnv1.SessionReset{By: d.command()}
	case "unknown":
		return envelope.Unknown{Type: "turn.dreamt.v9", Data: []byte("{")}
	case "refused":
		return messagev1.Refused{Reason: messagev1.Empty}
	case "reacted":
		return messagev1.Reacted{Native: "1", Emoji: []string{"x"}}
	case "deleted":
		return turnv1.SessionDeleted{By: "cli"}
	case "notice":
		return noticev1.Posted{Service: "other", Text: d.text(), By: rapid.SampledFrom([]string{"", "mcp:x"}).Draw(d.t, "by")}
	}
	return nil
}
