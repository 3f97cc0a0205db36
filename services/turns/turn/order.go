package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/money"
)

// service is who posts the notices of this machine.
const service = "turns"

// Default is the argument that gives a setting back to the agent.
const Default = "default"

// post answers a command, beside whatever runs.
func post(command, text string) machine.Append {
	return machine.Append{Beside: true, Cause: command, Body: noticev1.Posted{Service: service, Text: text, Answers: []string{command}}}
}

// reply answers a command that is answered at once.
func (s State) reply(o Order, v machine.View, r Rules) machine.Step {
	switch o.Verb {
	case messagev1.Model:
		return s.chooseModel(o, r)
	case messagev1.Queue:
		return s.chooseQueue(o, r)
	case messagev1.Status:
		return post(o.ID, s.status(v, r))
	case messagev1.Help:
		return post(o.ID, helpText)
	case messagev1.Stop: // a second one
	case messagev1.New, messagev1.Compact, messagev1.Approve, messagev1.Deny: // never among the orders
	}
	return post(o.ID, "Stopping already.")
}

func set(o Order, setting turnv1.Setting, value, text string) machine.Step {
	return machine.Append{Beside: true, Cause: o.ID, Body: turnv1.SessionConfigured{By: o.ID, Setting: setting, Value: value, Text: text}}
}

func (s State) chooseModel(o Order, r Rules) machine.Step {
	switch {
	case r.Client:
		return post(o.ID, noModelHere)
	case o.Argument == "":
		return post(o.ID, s.models(r))
	case o.Argument == Default:
		return set(o, turnv1.ModelSetting, "", fmt.Sprintf("This session uses the agent's model again: %s.", r.Model))
	}
	ref, why := r.Resolve(o.Argument)
	if ref == "" {
		return post(o.ID, why)
	}
	return set(o, turnv1.ModelSetting, ref, fmt.Sprintf("This session uses %s from the next message on. /model %s goes back to %s.", ref, Default, r.Model))
}

// A program outside makes each of its calls with a message, and is answered with the result: nothing about that can be another way
// in one session.
const (
	noModelHere = "No model answers here: this agent belongs to a program outside, and its calls are made as they are."
	noQueueHere = "Queue: followup. This agent belongs to a program outside, and its calls are made one by one."
)

// Resolve finds the model that somebody means: a reference whose provider exists, or the end of one that is named. why says,
// for a person, why there is none.
func (r Rules) Resolve(name string) (ref, why string) {
	if r.Client {
		return "", noModelHere
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "The name of a model has no spaces and no other signs than those of ASCII."
	}
	if provider, model, ok := strings.Cut(name, "/"); ok && model != "" && slices.Contains(r.Providers, provider) {
		return name, ""
	}
	var found []string
	for _, m := range r.Models {
		if m == name || strings.HasSuffix(m, "/"+name) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 1:
		return found[0], ""
	case 0:
		return "", fmt.Sprintf("There is no model %q here. Known are: %s. Any model of %s can be named as provider/model.",
			name, strings.Join(r.Models, ", "), strings.Join(r.Providers, ", "))
	}
	return "", fmt.Sprintf("%q can be any of %s. Which one?", name, strings.Join(found, ", "))
}

// ModelRef is the reference of the model that the session has chosen, else the agent's.
func (s State) ModelRef(r Rules) string {
	if s.Settings.Model != "" && !r.Client {
		return s.Settings.Model
	}
	return r.Model
}

func (s State) models(r Rules) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Model: %s", s.ModelRef(r))
	if s.Settings.Model != "" {
		fmt.Fprintf(&b, " (chosen for this session; the agent's is %s)", r.Model)
	}
	if len(r.Models) > 1 {
		b.WriteString("\nOthers: ")
		b.WriteString(strings.Join(slices.DeleteFunc(slices.Clone(r.Models), func(m string) bool { return m == s.ModelRef(r) }), ", "))
	}
	b.WriteString("\nChoose with /model provider/model.")
	return b.String()
}

func (s State) chooseQueue(o Order, r Rules) machine.Step {
	mode := Mode(o.Argument)
	switch {
	case r.Client:
		return post(o.ID, noQueueHere)
	case o.Argument == "":
		return post(o.ID, fmt.Sprintf("Queue: %s\nChoose with /queue followup, collect, steer or interrupt; /queue %s goes back to %s.",
			s.mode(r).describe(r.Queue), Default, r.Queue.Mode))
	case o.Argument == Default:
		return set(o, turnv1.QueueSetting, "", "Queue: "+r.Queue.Mode.describe(r.Queue))
	case !mode.valid():
		return post(o.ID, fmt.Sprintf("There is no queue mode %q: use followup, collect, steer or interrupt.", o.Argument))
	}
	return set(o, turnv1.QueueSetting, string(mode), "Queue: "+mode.describe(r.Queue))
}

func (m Mode) describe(q Queue) string {
	switch m {
	case Followup:
		return "followup (a message waits until the answer before it is there)"
	case Collect:
		return fmt.Sprintf("collect (messages are answered together once nothing has come for %s)", q.Debounce)
	case Steer:
		return "steer (the running answer is told of a message at its next step)"
	case Interrupt:
		return "interrupt (a message ends the running answer)"
	}
	return string(m)
}

// status says what is going on.
func (s State) status(v machine.View, r Rules) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Model: %s", s.ModelRef(r))
	line("Queue: %s, %s", s.mode(r), waits(s.queued()))
	switch t := s.Turn; {
	case t != nil && s.Compaction != nil:
		line("Running: the past is being summarised, as it is too long for the model")
	case t != nil && t.Open:
		line("Running: a model call, for %s (round %d)", max(0, v.Now.Sub(t.Claim.At)).Round(100*time.Millisecond), t.Claim.Round)
	case t != nil:
		line("Running: waits for %s", t.waitsFor())
	case s.Compaction != nil:
		line("Running: the past is being summarised")
	case s.queued() > 0 && s.mode(r) == Collect:
		line("Running: nothing yet; what waits is answered together once nothing has come for %s", r.Queue.Debounce)
	default:
		line("Running: nothing")
	}
	line("Tokens: %d in, %d out, of %s", s.Usage.Input, s.Usage.Output, counted(s.Usage.Calls, "model call"))
	line("Money: %s", s.Usage.Money())
	history := counted(len(s.Past), "turn")
	if s.Summary != nil {
		history += fmt.Sprintf(", and a summary of %d before", s.Summary.Turns)
	}
	line("History: %s, about %d tokens", history, s.Bytes/bytesPerToken)
	return strings.TrimSuffix(b.String(), "\n")
}

func (s State) queued() int {
	n := 0
	for _, it := range s.Inbox {
		if it.message() && (s.Turn == nil || !slices.Contains(s.Turn.Messages, it.ID)) {
			n++
		}
	}
	return n
}

// Money says what it cost. What has no known price is said to be unknown.
func (t Total) Money() string {
	if t.Tokens() == 0 && t.Cost == 0 && t.Silent == 0 {
		return "nothing was used"
	}
	var unknown []string
	if t.Unpriced > 0 {
		unknown = append(unknown, counted(t.Unpriced, "token")+" without a price (models.prices)")
	}
	if t.Silent > 0 {
		unknown = append(unknown, counted(t.Silent, "answer")+" without a count of tokens")
	}
	switch what := strings.Join(unknown, ", "); {
	case what == "":
		return money.Dollars(t.Cost)
	case t.Cost == 0:
		return "unknown: " + what
	default:
		return money.Dollars(t.Cost) + ", and unknown: " + what
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
