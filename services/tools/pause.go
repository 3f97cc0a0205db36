package tools

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// pausedRule is the name of what decides about calls to a paused executor.
const pausedRule = "paused"

// maxPauseReason bounds what a model is told of why an executor is paused, in bytes.
const maxPauseReason = 200

// unlessPaused is the verdict on a call, or its denial while the executor that would carry it out is left alone: somebody
// waits for the turn, and a call that waits in the stream, or a person who is asked about it, would keep them waiting for an
// error. That is so of every turn that there is; whoever adds turns that nobody waits for lets their calls pass here.
//
// The gate does not know of it: a pause is no part of the policy, and a person's decision is not void because of one.
func unlessPaused(all []toolv1.Catalogue, v call.Verdict, now time.Time) call.Verdict {
	if v.Effect == call.Deny {
		return v
	}
	for _, c := range all {
		if c.Executor != v.Request.Executor || c.Paused == nil || !c.Paused.Until.After(now) {
			continue
		}
		_, server, ok := strings.Cut(c.Executor, "-") // the service that runs it stands before
		if !ok {
			server = c.Executor
		}
		return call.Verdict{Effect: call.Deny, Request: v.Request, Rule: pausedRule, Reason: fmt.Sprintf(
			"the server %s is paused until %s (%s): nothing is sent to it before. Do it in another way, or try again later",
			server, c.Paused.Until.UTC().Format("15:04:05Z"), pauseReason(c.Paused.Reason))}
	}
	return v
}

// pauseReason is one short line.
func pauseReason(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if text == "" {
		return "calls to it failed"
	}
	if len(text) > maxPauseReason {
		text = strings.ToValidUTF8(text[:maxPauseReason], "") + "…"
	}
	return text
}
