package timeline

import (
	"fmt"
	"strings"
	"time"
)

// messageNote is what the turns below a message do not say.
func messageNote(e *Entry, m *Message) string {
	switch {
	case m.Waits:
		return " (waits, for " + took(m.Waited) + ")"
	case m.Ended != "":
		return " (" + m.Ended + ")"
	case !hasTurn(e, m.Turn):
		return " (answered by " + m.Turn + ")"
	case time.Duration(m.Waited) >= time.Second:
		return " (waited for " + took(m.Waited) + ")"
	}
	return ""
}

func hasTurn(e *Entry, id string) bool {
	for _, c := range e.Entries {
		if c.Kind == TurnKind && c.ID == id {
			return true
		}
	}
	return false
}

func turnText(e *Entry, f *Turn) string {
	s := fmt.Sprintf("(%s): ", e.ID)
	switch {
	case e.Open:
		s += "runs, for " + took(e.Took)
	case f.Cause != "":
		s += fmt.Sprintf("%s (%s) after %s", f.Outcome, f.Cause, took(e.Took))
	default:
		s += f.Outcome + " after " + took(e.Took)
	}
	s += "; " + counted(f.Rounds, "round")
	if f.Calls > 0 {
		s += ", " + counted(f.Calls, "call")
	}
	if f.Spent.Calls > 0 {
		s += "; " + f.Spent.text()
	}
	return s
}

func roundText(e *Entry, f *Round) string {
	var parts []string
	switch {
	case e.Open:
		parts = append(parts, "runs")
	case f.Cause != "":
		parts = append(parts, strings.TrimSpace(f.Model+" "+f.Outcome)+" ("+cause(f.Cause, f.Detail)+")")
	case f.Outcome == "stepped" || f.Outcome == "completed":
		parts = append(parts, f.Model)
	default:
		parts = append(parts, strings.TrimSpace(f.Model+" "+f.Outcome))
	}
	parts = append(parts, took(e.Took))
	if f.Attempts > 1 {
		parts = append(parts, counted(f.Attempts, "attempt"))
	}
	if f.Spent.Calls > 0 {
		parts = append(parts, f.Spent.text())
	}
	for _, t := range f.Tried {
		parts = append(parts, "after "+t.Model+" ("+cause(string(t.Cause), t.Detail)+")")
	}
	if f.Worker != "" {
		parts = append(parts, "worker "+f.Worker)
	}
	return strings.Join(parts, ", ")
}

func callText(e *Entry, f *Call) string {
	s := strings.TrimSpace(f.Arguments + " [" + f.Call + "]")
	switch {
	case f.Level != "" && f.Rule == "level "+f.Level:
		s += ", " + f.Rule
	case f.Level != "":
		s += ", " + f.Level + " (" + f.Rule + ")"
	case f.Rule != "":
		s += ", " + f.Rule
	}
	switch {
	case e.Open:
		s += ": open, for " + took(e.Took)
	case f.Reason != "":
		s += ": " + f.Outcome + " (" + f.Reason + ")"
	case f.Outcome == "answered":
		s += ": answered by the turn itself"
	default:
		s += ": " + f.Outcome + " after " + took(e.Took)
	}
	if f.Ran > 0 && e.Took-f.Ran > Span(time.Millisecond) {
		s += ", of it " + took(f.Ran) + " in the tool"
	}
	if f.Attempts > 1 {
		s += ", " + counted(f.Attempts, "attempt")
	}
	return s
}

func approvalText(e *Entry, f *Approval, now time.Time) string {
	s := f.Approval
	if f.Tool != "" {
		s += " of " + f.Tool
	}
	switch {
	case e.Open && f.Expires.After(now):
		return s + fmt.Sprintf(": asked, open for %s, expires in %s", took(e.Took), long(f.Expires.Sub(now)))
	case e.Open:
		return s + ": asked, open for " + took(e.Took)
	case f.By != "":
		s += fmt.Sprintf(": %s by %s after %s", f.Outcome, f.By, took(e.Took))
	default:
		s += fmt.Sprintf(": %s after %s", f.Outcome, took(e.Took))
	}
	if f.Edited {
		s += ", with other arguments"
	}
	if f.Reason != "" {
		s += ": " + f.Reason
	}
	return s
}

func deliveryText(e *Entry, f *Delivery) string {
	s := "to " + f.Channel
	switch {
	case e.Open && f.Reason != "":
		s += ": not yet (" + f.Reason + ")"
	case e.Open:
		s += ": under way, for " + took(e.Took)
	case f.Outcome == "sent" && e.Took > 0:
		s += ": sent after " + took(e.Took)
	case f.Outcome == "failed":
		s += ": failed (" + f.Reason + ")"
	default:
		s += ": " + f.Outcome
	}
	if f.Receipt != "" {
		s += ", receipt " + f.Receipt
	}
	if f.Parts > 1 {
		s += ", " + counted(f.Parts, "part")
	}
	if f.Failures > 0 {
		s += ", " + counted(f.Failures, "failure")
	}
	if f.Repeat {
		s += ", perhaps twice"
	}
	return s
}

func compactionText(e *Entry, f *Compaction) string {
	s := f.Outcome
	switch {
	case e.Open:
		s = "runs"
	case f.Cause != "":
		s += " (" + cause(f.Cause, f.Detail) + ")"
	case f.Turns > 0:
		s = counted(f.Turns, "turn") + " in one"
	}
	if f.Model != "" {
		s += ", " + f.Model
	}
	s += ", " + took(e.Took)
	if f.Attempts > 1 {
		s += ", " + counted(f.Attempts, "attempt")
	}
	if f.Spent.Calls > 0 {
		s += ", " + f.Spent.text()
	}
	if f.Worker != "" {
		s += ", worker " + f.Worker
	}
	return s
}
