package approval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// Kind is what an answer comes to.
type Kind string

// The kinds.
const (
	Wins     Kind = "wins"     // Body decides the approval
	Voids    Kind = "voids"    // Body voids it: it is not what would run
	Same     Kind = "same"     // it was decided like this already
	Lost     Kind = "lost"     // it was decided otherwise already
	Late     Kind = "late"     // it has expired
	Gone     Kind = "gone"     // it was cancelled or voided
	Missing  Kind = "missing"  // there is none
	Stranger Kind = "stranger" // the answer is not for this person to give
	Wrong    Kind = "wrong"    // the answer cannot be taken; the approval stays open
	Unheard  Kind = "unheard"  // the gate has to be asked Question first, or has given no answer that can be trusted
)

// Ruling says what is to be done about one answer.
type Ruling struct {
	Kind     Kind
	Text     string           // for who has answered
	Body     approvalv1.Event // Wins, Voids: to be appended
	Question Question         // Unheard
}

// Decide judges one answer at one time. Without the gate's verdict no answer allows anything.
func (s State) Decide(id session.ID, x Answer, now time.Time, r Rules, heard *Verdict) Ruling {
	a, open := s.Find(x.Approval)
	if !open || !a.Asked {
		return s.late(x, r)
	}
	switch {
	case !r.may(x.By, a.Approvers):
		return stranger(x.Approval)
	case a.Over:
		return Ruling{Kind: Gone, Text: fmt.Sprintf("Approval %s was cancelled: the work that it belongs to has ended.", a.ID)}
	case !now.Before(a.Expires):
		return Ruling{Kind: Late, Text: fmt.Sprintf("Approval %s has expired at %s. %s", a.ID, clock(a.Expires), nothing(a.Form != nil))}
	case !x.Decision.Valid():
		return wrong("%.40q is no decision: allow-once, allow-always or deny.", string(x.Decision))
	case x.Decision == callv1.Deny && len(x.Arguments) > 0:
		return wrong("What is denied has no other arguments: leave them out, or allow it with them.")
	case x.Decision == callv1.Deny:
		return a.decide(id, x, now, r, a.Request(), a.Parked.Shown, "")
	case a.Form != nil:
		return a.fill(id, x, now, r)
	}
	return a.allow(id, x, now, r, heard)
}

// allow is the answer of somebody who may give it.
func (a Approval) allow(id session.ID, x Answer, now time.Time, r Rules, heard *Verdict) Ruling {
	asked := a.Request()
	wanted, edits := asked.Arguments, len(x.Arguments) > 0
	if edits {
		c, err := canonical.JSON(x.Arguments)
		if err != nil {
			return wrong("The arguments cannot be taken: %v.", err)
		}
		if c[0] != '{' {
			return wrong("The arguments have to be a JSON object.")
		}
		wanted = c
	}
	if x.Decision == callv1.AllowAlways && !edits && !a.Always() {
		return a.noAlways()
	}
	unheard := Ruling{
		Kind: Unheard, Text: "The gate could not be asked whether this may still run, and nothing is allowed on doubt. Try again.",
		Question: Question{Turn: asked.Turn, Call: asked.Call, Index: asked.Index, Tool: asked.Tool, Arguments: wanted},
	}
	if heard == nil {
		return unheard
	}
	runs := heard.Request
	runs.Arguments = canonicalOr(runs.Arguments)
	switch {
	case heard.Effect == Deny && edits:
		return wrong("With these arguments it may not run: %s", oneLine(heard.Reason))
	case heard.Effect == Deny:
		return a.void("it is no longer allowed: " + heard.Reason)
	case heard.Effect != Run && heard.Effect != Ask, !answers(runs, asked, wanted):
		return unheard
	}
	if changed := a.changed(runs, heard, edits); len(changed) > 0 {
		return a.void("since it was asked this has changed: " + strings.Join(changed, ", "))
	}
	grant, shown := "", a.Parked.Shown
	if edits {
		shown = cmp.Or(heard.Shown, runs.Tool+" "+string(runs.Arguments))
	} else {
		runs = asked
	}
	if x.Decision == callv1.AllowAlways {
		if grant = a.Parked.Grant; edits {
			grant = heard.Grant
		}
		if grant == "" || !mayAlways(runs.Level) || heard.Effect == Ask && heard.Grant != grant {
			return a.noAlways()
		}
	}
	return a.decide(id, x, now, r, runs, shown, grant)
}

// mayAlways: what is dangerous is asked each time.
func mayAlways(l toolv1.Level) bool { return l.Known() && l < toolv1.L3 }

// answers says whether what the gate judged is what it was asked about.
func answers(runs, asked callv1.Request, wanted []byte) bool {
	return runs.Turn == asked.Turn && runs.Call == asked.Call && runs.Index == asked.Index && runs.Tool == asked.Tool &&
		bytes.Equal(runs.Arguments, wanted) && runs.Digest == canonical.Digest(wanted)
}

// changed are the names of what is otherwise than when the question was put. Other arguments have a level and files of
// their own.
func (a Approval) changed(runs callv1.Request, heard *Verdict, edits bool) []string {
	asked := a.Parked.Request
	var names []string
	note := func(same bool, what string) {
		if !same {
			names = append(names, what)
		}
	}
	note(runs.Executor == asked.Executor && runs.ToolDigest == asked.ToolDigest, "the tool")
	note(runs.Policy == asked.Policy, callv1.PolicyChange(asked.Policy, runs.Policy))
	if edits {
		return names
	}
	note(runs.Digest == asked.Digest, "the arguments")
	note(runs.Level == asked.Level, "the level")
	note(slices.Equal(runs.Files, asked.Files), "the files")
	note(heard.Shown == "" || heard.Shown == a.Parked.Shown, "what is shown")
	return names
}

// decide is the answer that counts.
func (a Approval) decide(
	id session.ID, x Answer, now time.Time, r Rules, runs callv1.Request, shown, grant string,
) Ruling {
	b := approvalv1.Decided{Ref: a.ref(), Via: oneLine(x.Via), Answer: r.Sign(id, runs, callv1.Approval{
		ID: a.ID, Decision: x.Decision, By: x.By, Shown: canonical.Digest([]byte(shown)),
		Expires: a.Expires, At: wall(now), Grant: grant,
	})}
	if x.Decision == callv1.Deny {
		b.Reason = oneLine(x.Reason)
	}
	if len(x.Arguments) > 0 {
		b.Edited = &runs
	} else {
		shown = ""
	}
	b.Text = a.decidedText(b, shown)
	return Ruling{Kind: Wins, Body: b, Text: b.Text}
}

func (a Approval) void(reason string) Ruling {
	b := a.Void(reason)
	return Ruling{Kind: Voids, Body: b, Text: b.Text}
}

// late is what an answer is told when nothing of that id is open.
func (s State) late(x Answer, r Rules) Ruling {
	o, ok := s.Over(x.Approval)
	if !ok || len(o.Approvers) == 0 { // it was never asked
		return missing(x.Approval)
	}
	if !r.may(x.By, o.Approvers) {
		return stranger(x.Approval)
	}
	switch o.Outcome {
	case Expired:
		return Ruling{Kind: Late, Text: fmt.Sprintf("Approval %s has expired at %s: nobody had answered. %s", o.ID, clock(o.Expires), nothing(o.Form))}
	case Cancelled:
		return Ruling{Kind: Gone, Text: fmt.Sprintf("Approval %s was cancelled at %s: the work that it belongs to has ended.", o.ID, clock(o.At))}
	case Voided:
		return Ruling{Kind: Gone, Text: fmt.Sprintf("Approval %s is void since %s: %s.", o.ID, clock(o.At), o.Reason)}
	case Allowed, Denied:
	}
	winner := fmt.Sprintf("Approval %s was %s by %s at %s", o.ID, o.words(), o.By, clock(o.At))
	if o.Decision == x.Decision && o.Edited == edited(x) {
		return Ruling{Kind: Same, Text: winner + ", as you say; it counts once."}
	}
	return Ruling{Kind: Lost, Text: winner + ": the first answer counts, and yours changes nothing."}
}

// edited is the digest of the arguments that an answer brings, "" when it leaves them alone.
func edited(x Answer) string {
	if len(x.Arguments) == 0 {
		return ""
	}
	return canonical.Digest(canonicalOr(x.Arguments))
}
